"""Reading native files: plain or compressed alike, record by record, in constant memory.

A fault inside a record is quarantined and reading goes on; where a file breaks off, what came before is kept and the
break is recorded as a cut.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
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
_BLOCK = 2**20
_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)
_WIDE_BOMS = (b"\xff\xfe", b"\xfe\xff")


class Record(NamedTuple):
    """One native record: its place in the file (line, list position or key) and its value."""

    place: int | str
    value: Any


class RawFile(NamedTuple):
    """A native file and the group it is counted under (itself, or its folder)."""

    path: Path
    group: str


def open_raw(path: Path) -> BinaryIO:
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
        return gzip.open(stream)  # type: ignore[return-value]
    if magic.startswith(b"BZh"):
        return bz2.open(stream)  # type: ignore[return-value]
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(_Zstd(stream), _BLOCK)
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
                    rest = stream.readline(_BLOCK)
                    length += len(rest)
                    if not rest or rest.endswith(b"\n"):
                        break
            except _BROKEN as error:
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


def json_lines(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Records of a JSON-lines file; lines that are not JSON go to the quarantine."""
    for number, text in lines(file, quarantine):
        quarantine.read(file.group)
        value = _loads(text, file, number, quarantine)
        if value is not None:
            yield Record(number, value)


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


# A string, or a bracket or comma outside of strings. Possessive: a string that is not finished fails at once.
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{},]|"', re.DOTALL)


def json_elements(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Elements of a file that is one JSON list (place: position from 0) or one JSON object (place: the key).

    Only one element is in memory at a time. An element that is not JSON goes to the quarantine.
    """
    count = 0
    for text in _element_texts(file, quarantine):
        quarantine.read(file.group)
        if text.startswith(":"):  # an entry of an object, marked by the scanner
            entry = _loads("{" + text[1:] + "}", file, count, quarantine)
            for key, value in (entry or {}).items():
                yield Record(key, value)
        else:
            value = _loads(text, file, count, quarantine)
            if value is not None:
                yield Record(count, value)
        count += 1


def _element_texts(file: RawFile, quarantine: Quarantine) -> Iterator[str]:
    buffer, start, scan, depth, count, opened = "", 0, 0, 0, 0, ""
    for block in _text_blocks(file, quarantine):
        buffer, start, scan = buffer[start:] + block, 0, scan - start
        if not opened:
            if not buffer.strip():
                continue
            opened = buffer.lstrip()[0]
            if opened not in "[{":
                quarantine.cut(file.group, file.path, 0, "the file is neither a JSON list nor an object", buffer)
                return
        for match in _STRUCTURE.finditer(buffer, scan):
            mark = match.group()
            if mark == '"':  # a string that goes on in the next block
                scan = match.start()
                break
            scan = match.end()
            if mark in "[{":
                depth += 1
                if depth == 1:
                    start = scan
            elif mark in "]}":
                depth -= 1
            if (mark == "," and depth == 1) or depth == 0:
                text = buffer[start : match.start()].strip()
                start = scan
                if text or mark == ",":
                    yield text if opened == "[" else ":" + text
                    count += 1
                if depth == 0:
                    return
        else:
            scan = len(buffer)
        if len(buffer) - start > MAX_RECORD_BYTES:
            reason = f"record over {MAX_RECORD_BYTES:,} bytes, or a quote that is never closed: the rest is lost"
            quarantine.cut(file.group, file.path, count, reason, buffer[start : start + EXCERPT])
            return
    if not opened:
        quarantine.cut(file.group, file.path, 0, "the file is empty")
    elif depth > 0:
        quarantine.cut(
            file.group, file.path, count, "the file ends inside this record", buffer[start : start + EXCERPT]
        )


def _text_blocks(file: RawFile, quarantine: Quarantine) -> Iterator[str]:
    """Blocks of decoded text; bytes that are not UTF-8 become lone surrogates, found when their record is read."""
    with open_raw(file.path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        while True:
            try:
                block = text.read(_BLOCK)
            except _BROKEN as error:
                quarantine.cut(file.group, file.path, "end", f"the rest of the file is lost: {error}")
                return
            if not block:
                return
            yield block


_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _loads(text: str, file: RawFile, place: int | str, quarantine: Quarantine) -> Any:
    """The value of a JSON text, or None after setting it apart (`null` is no record either)."""
    try:
        if _SURROGATE.search(text):
            raise ValueError("not UTF-8")
        value = json.loads(text)
        if value is None:
            raise ValueError("null instead of a record")
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        reason = "half of a surrogate pair in a string"
    except (ValueError, RecursionError) as error:
        reason = f"not JSON: {error}" if str(error) != "not UTF-8" else "not UTF-8"
    else:
        return value
    quarantine.add(file.group, file.path, place, reason, text[:EXCERPT].lstrip(":"))
    return None


def records(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Records of a file that is a JSON list or JSON lines, whichever its first character says."""
    return json_elements(file, quarantine) if first_character(file.path) == "[" else json_lines(file, quarantine)


def first_character(path: Path) -> str:
    """First visible character of a file, or an empty string."""
    with open_raw(path) as stream:
        try:
            head = stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
        except _BROKEN:
            return ""
    return head[:1].decode("ascii", "replace")
