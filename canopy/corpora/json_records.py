"""Records of JSON files, one at a time: JSON lines, one big list, one big object; also Parquet rows."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from canopy.corpora.quarantine import EXCERPT, Quarantine
from canopy.corpora.raw import BLOCK, BROKEN, MAX_RECORD_BYTES, RawFile, Record, lines, open_raw

# A string, or a bracket or comma outside of strings. Possessive: a string that is not finished fails at once.
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{},]|"', re.DOTALL)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
MAX_DEPTH = 100
_DEEP = f"brackets nested over {MAX_DEPTH} deep"


def records(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Records of a file that is a JSON list, JSON lines or Parquet, whichever its first bytes say."""
    with open_raw(file.path) as stream:
        try:
            head = stream.read1(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
            while not head and (block := stream.read1(4096)):
                head = block.lstrip()
        except BROKEN:
            head = b""
    if head.startswith(b"PAR1"):
        return parquet_rows(file, quarantine)
    return json_elements(file, quarantine) if head.startswith(b"[") else json_lines(file, quarantine)


def json_lines(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Records of a JSON-lines file; lines that are not JSON go to the quarantine."""
    for number, text in lines(file, quarantine):
        quarantine.read(file.group)
        value = _loads(text, file, number, quarantine)
        if value is not None:
            yield Record(number, value)


def json_elements(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Elements of a file that is one JSON list (place: position from 0) or one JSON object (place: the key).

    Only one element is in memory at a time. An element that is not JSON goes to the quarantine.
    """
    for count, text in enumerate(_element_texts(file, quarantine)):
        quarantine.read(file.group)
        if text.startswith(":"):  # an entry of an object, marked by the scanner
            entry = _loads("{" + text[1:] + "}", file, count, quarantine)
            for key, value in (entry or {}).items():
                yield Record(key, value)
        else:
            value = _loads(text, file, count, quarantine)
            if value is not None:
                yield Record(count, value)


def parquet_rows(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Rows of a Parquet file as records, numbered from 0."""
    position = 0
    try:
        source = pl.scan_parquet(file.path)
        while True:
            rows = source.slice(position, 1000).collect().to_dicts()
            if not rows:
                if not position:
                    quarantine.cut(file.group, file.path, 0, "the file is empty")
                return
            for row in rows:
                quarantine.read(file.group)
                yield Record(position, row)
                position += 1
    except pl.exceptions.PolarsError as error:
        quarantine.cut(file.group, file.path, position, f"the rest of the file is lost: {error}")


def _element_texts(file: RawFile, quarantine: Quarantine) -> Iterator[str]:
    """Texts of the elements; those of an object's entries have a colon in front."""
    scanner = _Scanner()
    for block in _text_blocks(file, quarantine):
        yield from scanner.feed(block)
        if scanner.fault:
            break
    fault = scanner.fault or scanner.unfinished
    # A file that is one record may have no entries: a page without links, for instance.
    if not fault and not scanner.count and not (scanner.is_object and file.group != str(file.path)):
        fault = "the file is empty: a list or an object without entries"
    if fault:
        quarantine.cut(file.group, file.path, scanner.count, fault, scanner.rest)


class _Scanner:
    """Cuts one JSON list or object, given block by block, into the texts of its elements."""

    def __init__(self) -> None:
        self.count = 0
        self.fault = ""
        self._buffer = ""
        self._start = 0  # of the element that is being read
        self._scanned = 0  # brackets and commas are known up to here
        self._depth = 0
        self._opened = ""
        self._ended = False

    @property
    def unfinished(self) -> str:
        """What is wrong when no more blocks come, or an empty string."""
        if not self._opened:
            return "the file is empty"
        return "" if self._ended else "the file ends inside this record"

    @property
    def is_object(self) -> bool:
        """Whether the file is one object rather than a list."""
        return self._opened == "{"

    @property
    def rest(self) -> str:
        """The beginning of what has not been read."""
        return self._buffer[self._start :].lstrip()[:EXCERPT]

    def feed(self, block: str) -> Iterator[str]:
        """Take a block in and give the elements that it completes."""
        self._buffer = self._buffer[self._start :] + block
        self._scanned -= self._start
        self._start = 0
        if not self._opened:
            self._opened = self.rest[:1]
            if self._opened not in "[{":  # an empty string is in it: no visible character yet
                self.fault = "the file is neither a JSON list nor an object"
        if self._opened and not self.fault and not self._ended:
            yield from self._elements()
        # Reading goes on after the end, since that is where a damaged archive shows.
        if self._ended and self.rest:
            self.fault = "text after the end of the JSON value"
        elif len(self._buffer) - self._start > MAX_RECORD_BYTES:
            self.fault = f"record over {MAX_RECORD_BYTES:,} bytes, or a quote that is never closed: the rest is lost"

    def _elements(self) -> Iterator[str]:
        for match in _STRUCTURE.finditer(self._buffer, self._scanned):
            mark = match.group()
            if mark == '"':  # a string that goes on in the next block
                self._scanned = match.start()
                return
            self._scanned = match.end()
            if mark in "[{":
                self._depth += 1
                if self._depth == 1:
                    self._start = self._scanned
            elif mark in "]}":
                self._depth -= 1
                self._ended = self._depth == 0
            if self._ended or (mark == "," and self._depth == 1):
                text = self._buffer[self._start : match.start()].strip()
                self._start = self._scanned
                if text or mark == ",":
                    yield text if self._opened == "[" else ":" + text
                    self.count += 1
                if self._ended:
                    return
        self._scanned = len(self._buffer)


def _text_blocks(file: RawFile, quarantine: Quarantine) -> Iterator[str]:
    """Blocks of decoded text; bytes that are not UTF-8 become lone surrogates, found when their record is read."""
    with open_raw(file.path) as stream:
        decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        block = b" "
        while block:
            try:
                block = stream.read1(BLOCK)  # what there is, so that only what follows a break is lost
            except BROKEN as error:
                quarantine.cut(file.group, file.path, "end", f"the rest of the file is lost: {error}")
                return
            yield decoder.decode(block, final=not block)


def _loads(text: str, file: RawFile, place: int | str, quarantine: Quarantine) -> Any:
    """The value of a JSON text, or None after setting it apart (`null` is no record either)."""
    try:
        value = json.loads(text)
        reason = _reason_against(text, value)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error}"
    except RecursionError:
        reason = _DEEP
    except ValueError as error:  # Python's limit on digits
        reason = f"a number that is too long to read: {error}"
    if not reason:
        return value
    if _SURROGATE.search(text):
        reason = "not UTF-8"
    quarantine.add(file.group, file.path, place, reason, text[:EXCERPT].lstrip(":"))
    return None


def _reason_against(text: str, value: Any) -> str:
    """Why a JSON text's value is no record, or an empty string."""
    if value is None:
        return "not JSON: null instead of a record"
    if _too_deep(text, value):
        return _DEEP
    if _SURROGATE.search(text):
        return "not UTF-8"
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return "half of a surrogate pair in a string"
    return ""


def _too_deep(text: str, value: Any) -> bool:
    """Whether a value is nested so deeply that writing it out again may fail."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (child for one in level for child in (one.values() if isinstance(one, dict) else one))
        level = [child for child in inner if isinstance(child, dict | list)]
        if not level:
            return False
    return True
