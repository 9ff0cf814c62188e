"""Files that a person has (text, markdown, CSV) as items, with the place of every unit in its file."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from canopy.contracts import Item, Modality, Span, Table
from canopy.errors import UserError
from canopy.text.sentences import paragraph_groups, sentence_spans

STDIN = "-"
MAX_BYTES = 16_000_000
"""Larger files are refused: each sentence is encoded, which takes hours beyond this."""

_DELIMITERS = {".csv": ",;\t", ".tsv": "\t", ".tab": "\t"}
_MARKDOWN = (".md", ".markdown")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_BULLET = re.compile(r"\s*([-*+]|\d{1,9}[.)])\s")
_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Document:
    """One item of a file.

    Attributes:
        file: the file as it was named.
        item: its text, or one of its tables.
        places: for each unit of the item, its half-open range of characters in the file, after
            decoding from UTF-8 and without a byte order mark.
    """

    file: str
    item: Item
    places: tuple[Span, ...]

    def spans(self, unit_start: int, unit_end: int) -> list[Span]:
        """The ranges of characters in the file of some units; ranges that touch are joined."""
        joined: list[Span] = []
        for place in self.places[unit_start:unit_end]:
            if joined and joined[-1].end == place.start:
                joined[-1] = Span(joined[-1].start, place.end)
            else:
                joined.append(place)
        return joined


def text_item(text: str, title: str = "", item_id: str = "text") -> Item:
    """A text as an item: sentences are its units, paragraphs (blank lines) its upper level."""
    units = sentence_spans(text)
    return _item(item_id, "text", title, text, units, paragraph_groups(text, units))


def table_item(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", item_id: str = "table") -> Item:
    """A table as an item: rows are its units. Short rows are filled up with empty cells."""
    width = max([len(header), *map(len, rows)], default=0)
    cells = [tuple(row) + ("",) * (width - len(row)) for row in (header, *rows)]
    content = Table(cells[0], tuple(cells[1:])).to_json()
    return _item(item_id, "table", title, content, [Span(n, n + 1) for n in range(len(rows))], ())


def read_documents(file: str) -> list[Document]:
    """The items of a file, by its ending: a CSV or TSV table, markdown, else plain text; ``-`` is standard input.

    Raises:
        UserError: the file is missing, empty, too large, not UTF-8 text, or not a well-formed table.
    """
    text = _read(file)
    ending = Path(file).suffix.lower()
    if ending in _DELIMITERS:
        return [_csv(text, file, _DELIMITERS[ending])]
    if ending in _MARKDOWN:
        return _markdown(text, file)
    item = text_item(text, _title(file), file)
    return [Document(file, item, item.units)]


def _read(file: str) -> str:
    try:
        if file == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{file}: {error.strerror or error}") from error
    name = "standard input" if file == STDIN else file
    if len(data) > MAX_BYTES:
        raise UserError(f"{name}: larger than {MAX_BYTES // 1_000_000} MB: split it, or retrieve from it first")
    if b"\0" in data:
        raise UserError(f"{name}: not a text file (it has a zero byte at {data.index(0)})")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: not UTF-8 text (byte {error.start}): convert it first") from error
    if not text.strip():
        raise UserError(f"{name}: is empty")
    return text


def _title(file: str) -> str:
    return "" if file == STDIN else Path(file).stem


def _item(
    item_id: str, modality: Modality, title: str, content: str, units: Sequence[Span], groups: Sequence[Span]
) -> Item:
    return Item(
        item_id=item_id,
        benchmark="",
        doc_id=item_id,
        modality=modality,
        title=title,
        content=content,
        units=tuple(units),
        groups=tuple(groups),
        source=item_id,
    )


def _csv(text: str, file: str, delimiters: str) -> Document:
    lines = list(io.StringIO(text, newline=""))
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    first = next(line for line in lines if line.strip())
    reader = csv.reader(lines, delimiter=max(delimiters, key=first.count), strict=True)
    records: list[list[str]] = []
    places: list[Span] = []
    before = 0
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                records.append(record)
                last = lines[reader.line_num - 1]
                places.append(Span(starts[before], starts[reader.line_num] - (len(last) - len(last.rstrip("\r\n")))))
            before = reader.line_num
    except csv.Error as error:
        raise UserError(f"{file}: not a well-formed table at line {reader.line_num}: {error}") from error
    if not records:
        raise UserError(f"{file}: is empty")
    return Document(file, table_item(records[0], records[1:], _title(file), file), tuple(places[1:]))


@dataclass(slots=True)
class _Line:
    text: str
    start: int
    fenced: bool

    @property
    def place(self) -> Span:
        return Span(self.start, self.start + len(self.text.rstrip("\r\n")))


def _markdown(text: str, file: str) -> list[Document]:
    """The prose as one item, whose upper level are the sections (or paragraphs); each pipe table as one more.

    Prose around a table stays one item: regions that go across the table have two ranges.
    """
    lines = list(_lines(text))
    prose: list[_Line] = []
    tables: list[Document] = []
    at = 0
    while at < len(lines):
        end = _table_end(lines, at)
        if end == at:
            prose.append(lines[at])
            at += 1
        else:
            tables.append(_pipe_table(lines[at:end], file, len(tables) + 1))
            at = end
    return [*_prose(prose, file), *tables]


def _lines(text: str) -> Iterator[_Line]:
    start, fence = 0, ""
    for line in io.StringIO(text, newline=""):
        mark = _FENCE.match(line)
        opens = bool(mark) and not fence
        yield _Line(line, start, bool(fence) or opens)
        if mark:
            fence = mark[1] if opens else "" if mark[1] == fence else fence
        start += len(line)


def _table_end(lines: Sequence[_Line], at: int) -> int:
    """The line after the table that starts in line ``at``; ``at`` itself when none does (GitHub's rule)."""
    if at + 1 >= len(lines) or lines[at].fenced or "|" not in lines[at].text or "|" not in lines[at + 1].text:
        return at
    if not _RULE.fullmatch(lines[at + 1].text) or len(_cells(lines[at].text)) != len(_cells(lines[at + 1].text)):
        return at
    end = at + 2
    while end < len(lines) and "|" in lines[end].text and not lines[end].fenced:
        end += 1
    return end


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner.removesuffix("|") if not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _PIPE.split(inner)]


def _pipe_table(lines: Sequence[_Line], file: str, number: int) -> Document:
    header, rows = _cells(lines[0].text), [_cells(line.text) for line in lines[2:]]
    # GitHub's rule: cells beyond the header's width are not part of the table.
    item = table_item(header, [row[: len(header)] for row in rows], _title(file), f"{file}#table-{number}")
    return Document(file, item, tuple(line.place for line in lines[2:]))


def _prose(lines: Sequence[_Line], file: str) -> list[Document]:
    content = "".join(line.text for line in lines)
    if not content.strip():
        return []
    units: list[Span] = []
    places: list[Span] = []
    sections: list[int] = []
    at = 0
    for block in _blocks(lines):
        text = "".join(line.text for line in block)
        if _is_heading(block[0]):
            sections.append(len(units))
        shift = block[0].start - at
        for unit in sentence_spans(text):
            units.append(Span(at + unit.start, at + unit.end))
            places.append(Span(units[-1].start + shift, units[-1].end + shift))
        at += len(text)
    bounds = sorted({0, *sections, len(units)})
    groups = [Span(a, b) for a, b in pairwise(bounds)] if len(bounds) > 2 else paragraph_groups(content, units)
    return [Document(file, _item(file, "text", _title(file), content, units, groups), tuple(places))]


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Runs of lines in which sentences may go on; blank lines belong to the run before them.

    A run is contiguous in the file, so one shift gives its place.
    """
    block: list[_Line] = []
    for line in lines:
        if block and _starts_block(block[-1], line) and any(old.text.strip() for old in block):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _starts_block(before: _Line, line: _Line) -> bool:
    if line.start != before.start + len(before.text):
        return True
    if not line.text.strip():
        return False
    return not before.text.strip() or _is_heading(before) or _is_heading(line) or _is_bullet(line)


def _is_heading(line: _Line) -> bool:
    return not line.fenced and bool(_HEADING.match(line.text))


def _is_bullet(line: _Line) -> bool:
    return not line.fenced and bool(_BULLET.match(line.text))
