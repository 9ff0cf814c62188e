"""Rows of tab-separated files with double-quote quoting, as Python's ``csv`` reads them, in constant memory."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from canopy.corpora.quarantine import EXCERPT, Quarantine
from canopy.corpora.raw import RawFile, lines
from canopy.errors import UserError

MAX_SPREAD = 2**16
_FIELD = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"([^\t]*+)|(?!")[^\t]*+')
_QUOTED_REST = re.compile(r'[^"]*+(?:""[^"]*+)*+("?)')


def tsv_rows(file: RawFile, quarantine: Quarantine, header: list[str] | None = None) -> Iterator[tuple[int, list[str]]]:
    """Rows, numbered by their first line; the header is left out.

    A quoted field may go over several lines. A quote that is never closed would swallow the rest of the file: where a
    row goes over :data:`MAX_SPREAD` characters, meets the end of the file, closes inside a later field or, in a file
    with a header, would take in a line that is a whole row with a number as its id, its first line alone goes to the
    quarantine and reading goes on with the next.

    Args:
        file: what to read.
        quarantine: where bad rows go; a header that is repeated amid the rows is noticed.
        header: names of the columns; a file may lack this row.

    Raises:
        UserError: the file has another header.
    """
    source = _Lines(lines(file, quarantine, blank=True))
    first, rows = True, 0
    for number, text in source:
        if not text.strip():
            continue
        fields = _fields(text)
        if fields is None:
            fields = _spread(number, text, source, header)
        if header is not None and fields == header:
            if not first:
                quarantine.notice("header repeated amid the rows, left out", file.path, number, text)
            first = False
            continue
        if first and header is not None and fields is not None:
            _refuse_other_header(file, number, fields, header)
        first, rows = False, rows + 1
        quarantine.read(file.group)
        if fields is None:
            quarantine.add(file.group, file.path, number, "a quoted field is never closed", text)
        elif header is not None and _is_header(fields, header):
            quarantine.add(file.group, file.path, number, "another header amid the rows", text)
        else:
            yield number, fields
    if not first and not rows:
        quarantine.cut(file.group, file.path, 1, "the file is empty but for its header")


def _is_header(fields: list[str], header: list[str]) -> bool:
    if fields[0].isdigit():
        return False
    names = [field.strip().casefold() for field in fields]
    return names[0] == header[0] or set(names) >= set(header)


def _refuse_other_header(file: RawFile, number: int, fields: list[str], header: list[str]) -> None:
    if _is_header(fields, header):
        raise UserError(
            f"{file.path}, line {number}: the header is {', '.join(fields)[:EXCERPT]!r}, expected "
            f"{', '.join(header)!r}, separated by tabs: bring the columns into this order"
        )


class _Lines:
    """Numbered lines, of which some can be put back to be read again."""

    def __init__(self, source: Iterable[tuple[int, str]]) -> None:
        self._source = iter(source)
        self._again: deque[tuple[int, str]] = deque()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self

    def __next__(self) -> tuple[int, str]:
        return self._again.popleft() if self._again else next(self._source)

    def put_back(self, numbered: list[tuple[int, str]]) -> None:
        self._again.extendleft(reversed(numbered))


def _fields(row: str) -> list[str] | None:
    """The fields of a row, or None where a quoted one is not closed."""
    if '"' not in row:
        return row.split("\t")
    found, position = [], 0
    while True:
        match = _FIELD.match(row, position)
        if match is None:
            return None
        quoted, behind = match.groups()
        found.append(match.group() if quoted is None else quoted.replace('""', '"') + behind)
        if match.end() == len(row):
            return found
        position = match.end() + 1


def _spread(number: int, text: str, source: _Lines, header: list[str] | None) -> list[str] | None:
    """The fields of a row that goes over several lines; None, with the later lines put back, where it has no end."""
    later: list[tuple[int, str]] = []
    size = len(text)
    for following, line in source:
        later.append((following, line))
        size += len(line)
        if following != number + len(later) or size > MAX_SPREAD:  # a line that is missing was set apart
            break
        if header is not None and _is_whole(line, header):
            break
        goes_on = _goes_on(line)
        if goes_on is None:
            break
        if not goes_on:
            return _fields("\n".join([text, *(line for _, line in later)]))
    source.put_back(later)
    return None


def _is_whole(line: str, header: list[str]) -> bool:
    """Whether a line is by itself a row of a file with this header."""
    fields = _fields(line)
    return fields == header or (fields is not None and len(fields) == len(header) and fields[0].isdigit())


def _goes_on(line: str) -> bool | None:
    """Whether a quoted field is open after a line that begins inside one; None where its quote closes amid text."""
    match = _QUOTED_REST.match(line)
    if match is None or not match.group(1):
        return True
    if match.end() == len(line):
        return False
    return _fields(line[match.end() + 1 :]) is None if line[match.end()] == "\t" else None
