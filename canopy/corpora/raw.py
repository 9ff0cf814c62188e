"""Reading native files: plain or compressed alike, record by record, in constant memory.

A fault inside a record is quarantined and reading goes on; where a file breaks off, what came before is kept and the
break is recorded as a cut.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from canopy.corpora.quarantine import EXCERPT, Quarantine
from canopy.errors import UserError

MAX_RECORD_BYTES = 16 * 2**20
BLOCK = 2**20
BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


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
        UserError: the file cannot be opened.
    """
    try:
        stream = path.open("rb")
        magic = stream.read(4)
        stream.seek(0)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    if magic.startswith(b"\x1f\x8b"):
        return gzip.open(stream)
    if magic.startswith(b"BZh"):
        return bz2.open(stream)
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(_Zstd(stream), BLOCK)
    return stream


class _Zstd(io.RawIOBase):
    """Zstandard frames one after another; unlike the library's own reader it notices a frame without an end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._started = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            block = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._started = zstandard.ZstdDecompressor().decompressobj(), False
            block = block or self._stream.read(2**16)
            if not block:
                if self._started:
                    raise EOFError("compressed file ended before the end of its last frame")
                return 0
            self._started = True
            self._ready = self._frame.decompress(block)
        count = min(len(buffer), len(self._ready))
        buffer[:count], self._ready = self._ready[:count], self._ready[count:]
        return count


def lines(file: RawFile, quarantine: Quarantine) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file, numbered from 1, without line ends or a byte order mark; empty lines are left out.

    Lines that are not UTF-8 or longer than :data:`MAX_RECORD_BYTES` go to the quarantine.
    """
    number = 0
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
            if text.strip():
                yield number, text
    if number == 0:
        quarantine.cut(file.group, file.path, 0, "the file is empty")


def tsv_rows(file: RawFile, quarantine: Quarantine, header: list[str] | None = None) -> Iterator[tuple[int, list[str]]]:
    """Rows of a tab-separated file with double-quote quoting, numbered by their first line; without the header.

    A quoted field may go over several lines. A quote that is never closed would swallow the rest of the file, so a
    row over 64 KiB is quarantined and reading goes on after its first line.
    """
    pending: list[str] = []
    first = size = 0
    for number, text in lines(file, quarantine):
        first = first if pending else number
        pending.append(text)
        size += len(text)
        if _quotes_open(pending) and size <= 2**16:
            continue
        if first == 1 and text.split("\t") == header:
            pending, size = [], 0
            continue
        quarantine.read(file.group)
        if _quotes_open(pending):
            quarantine.add(file.group, file.path, first, "a quoted field is never closed", pending[0])
            for offset, line in enumerate(pending[1:], start=1):
                quarantine.read(file.group)
                yield first + offset, next(csv.reader([line], delimiter="\t"))
        else:
            yield first, next(csv.reader(["\n".join(pending)], delimiter="\t"))
        pending, size = [], 0
    if pending:
        quarantine.read(file.group)
        quarantine.add(file.group, file.path, first, "a quoted field is never closed", pending[0])


_FIELD = re.compile(r'(?:"[^"]*+(?:""[^"]*+)*+"[^\t]*+|[^"\t][^\t]*+|)(?:\t|$)')


def _quotes_open(pending: list[str]) -> bool:
    text = pending[0] if len(pending) == 1 else "\n".join(pending)
    if '"' not in text:
        return False
    position = 0
    while position < len(text):
        field = _FIELD.match(text, position)
        if field is None:
            return True
        position = field.end()
    return False
