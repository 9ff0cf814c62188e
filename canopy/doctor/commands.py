"""Asking another program, which may never end, or never stop printing."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from canopy.errors import UserError

SECONDS = 20.0
MOST = 16_000_000  # bytes of output; a queue of 50,000 jobs prints about 10 MB
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Answer:
    """A program's exit code, and what it printed on standard output and standard error."""

    code: int
    out: str
    err: str


def ask(command: Sequence[str]) -> Answer:
    """Run a program for :data:`SECONDS` at most, and read :data:`MOST` bytes of its output at most.

    Raises:
        UserError: it cannot be run, takes longer, or prints more; it and what it started have been killed.
    """
    name = command[0]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise UserError(f"{name} cannot be run: {error}") from error
    assert process.stdout is not None and process.stderr is not None
    try:
        deadline = time.monotonic() + SECONDS
        out, err = _read(name, (process.stdout, process.stderr), deadline)
        code = process.wait(max(0.0, deadline - time.monotonic()))
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{name} has not ended within {SECONDS:g} s, and was stopped") from error
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
    return Answer(code, out, err)


def _read(name: str, streams: tuple[IO[bytes], IO[bytes]], deadline: float) -> tuple[str, str]:
    printed = [bytearray(), bytearray()]
    with selectors.DefaultSelector() as waiting:
        for stream, kept in zip(streams, printed, strict=True):
            waiting.register(stream, selectors.EVENT_READ, kept)
        while waiting.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in waiting.select(left):
                block = os.read(key.fd, _BLOCK)
                if not block:
                    waiting.unregister(key.fileobj)
                key.data.extend(block)
                if len(key.data) > MOST:
                    raise UserError(
                        f"{name} printed more than {MOST // 1_000_000} MB and was stopped: is the {name} on PATH the "
                        "right one?"
                    )
    try:
        return printed[0].decode(), printed[1].decode(errors="replace")
    except UnicodeDecodeError as error:
        raise UserError(f"{name} printed something that is not UTF-8: is the {name} on PATH the right one?") from error
