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


def records(file: RawFile, quarantine: Quarantine) -> Iterator[Record]:
    """Records of a file that is a JSON list, JSON lines or Parquet, whichever its first bytes say."""
    with open_raw(file.path) as stream:
        try:
            head = stream.read1(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
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
                return
            for row in rows:
                quarantine.read(file.group)
                yield Record(position, row)
                position += 1
    except pl.exceptions.PolarsError as error:
        quarantine.cut(file.group, file.path, position, f"the rest of the file is lost: {error}")


def _element_texts(file: RawFile, quarantine: Quarantine) -> Iterator[str]:
    buffer, start, scan, depth, count, opened = "", 0, 0, 0, 0, ""
    for block in _text_blocks(file, quarantine):
        if opened and depth == 0:  # read on to the end, where a damaged archive shows
            if block.strip():
                quarantine.cut(file.group, file.path, count, "text after the end of the JSON value", block.strip())
                return
            continue
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
                    if buffer[scan:].strip():
                        reason = "text after the end of the JSON value"
                        quarantine.cut(file.group, file.path, count, reason, buffer[scan:].strip())
                        return
                    break
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
