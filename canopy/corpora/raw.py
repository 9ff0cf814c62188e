"""Reading native files: plain or compressed alike, record by record, in constant memory.

A fault inside a record is quarantined and reading goes on; where a file breaks off, what came before is kept and the
break is recorded as a cut.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

import zstandard

from canopy.corpora.quarantine import EXCERPT, Quarantine
from canopy.errors import UserError

MAX_RECORD_BYTES = 16 * 2**20
BLOCK = 2**20
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")
_ZSTD_SKIPPED = tuple(bytes([first]) for first in range(0x50, 0x60))
_PACKED = 2**12  # bytes unpacked at once: at most about 100 MB of either format


class Record(NamedTuple):
    """One native record: its place in the file (line, list position or key) and its value."""

    place: int | str
    value: Any


class RawFile(NamedTuple):
    """A native file and the group it is counted under (itself, or its folder)."""

    path: Path
    group: str


def open_raw(path: Path) -> io.BufferedIOBase:
    """Open a file for reading its plain bytes; compression is told from the content, not from the name.

    Raises:
        UserError: the file cannot be opened, or is none (a pipe or a device would keep the program waiting).
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UserError(f"cannot read {path}: {kind_of_path(path)}, not a file: write its content to a file first")
        stream = path.open("rb")
        magic = stream.read(4)
        stream.seek(0)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(stream)
    if magic.startswith(b"BZh"):
        return io.BufferedReader(_Frames(stream, bz2.BZ2Decompressor), BLOCK)
    if magic == b"\x28\xb5\x2f\xfd" or (magic[:1] in _ZSTD_SKIPPED and magic[1:] == b"\x2a\x4d\x18"):
        return io.BufferedReader(_Frames(stream, lambda: zstandard.ZstdDecompressor().decompressobj()), BLOCK)
    return stream


def kind_of_path(path: Path) -> str:
    """What a path is, for messages: a file, a folder, a pipe, a socket or a device."""
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(os.stat(path).st_mode), "a device")


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class _Frames(io.RawIOBase):
    """Compressed frames one after another.

    Unlike the libraries' own readers it notices a frame without an end, and bytes after the last frame that are none.
    """

    def __init__(self, stream: BinaryIO, new: Callable[[], _Decompressor]) -> None:
        self._stream = stream
        self._new = new
        self._frame = new()
        self._started = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            block = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._started = self._new(), False
            block = block or self._stream.read(_PACKED)
            if not block:
                if self._started:
                    raise EOFError("compressed file ended before the end of its last frame")
                return 0
            self._started = True
            self._ready = self._frame.decompress(block)
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def lines(file: RawFile, quarantine: Quarantine, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file, numbered from 1, without line ends or a byte order mark; empty ones only if ``blank``.

    Lines that are not UTF-8 or longer than :data:`MAX_RECORD_BYTES` go to the quarantine.
    """
    number = 0
    empty = True
    with open_raw(file.path) as stream:
        while True:
            try:
                raw = stream.readline(MAX_RECORD_BYTES + 1)
                length = len(raw)
                while len(raw) > MAX_RECORD_BYTES and not raw.endswith(b"\n"):
                    rest = stream.readline(BLOCK)
                    length += len(rest)
                    if not rest or rest.endswith(b"\n"):
                        break
            except BROKEN as error:
                quarantine.cut(file.group, file.path, number + 1, f"the rest of the file is lost: {error}")
                return
            if not raw:
                break
            number += 1
            if number == 1:
                if raw.startswith(_WIDE_BOMS):
                    quarantine.cut(file.group, file.path, 1, "the file is UTF-16, not UTF-8: convert it")
                    return
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            empty = empty and not raw.strip()
            if length > MAX_RECORD_BYTES:
                reason = f"line of {length:,} bytes, over the limit of {MAX_RECORD_BYTES:,}"
                quarantine.read(file.group)
                quarantine.add(file.group, file.path, number, reason, raw[:EXCERPT].decode("utf-8", "replace"))
                continue
            try:
                text = raw.rstrip(b"\r\n").decode("utf-8")
            except UnicodeDecodeError as error:
                quarantine.read(file.group)
                where = raw[max(error.start - 20, 0) : error.start + 80].decode("utf-8", "replace")
                quarantine.add(file.group, file.path, number, f"not UTF-8 at byte {error.start} of the line", where)
                continue
            if blank or text.strip():
                yield number, text
    if empty:
        quarantine.cut(file.group, file.path, 0, "the file is empty")
