"""The text of a region: original content under the context header of its item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from canopy.contracts import Item, Span, Table

Renderer = Callable[[int, int], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Region:
    """A range of an item handed to the reader, with exact provenance.

    Attributes:
        item_id: the item.
        title: its title.
        modality: its modality.
        unit_start: first unit; 0 for an item without units.
        unit_end: unit after the last; 0 for an item without units.
        start: native start: character, row, or millisecond in the whole video.
        end: native end, exclusive.
        header: context header: title; title and column headers; title and time span. May be empty.
        body: original content of the units.
        score: cosine to the query, float32; the retrieval score for an uncompressed item.
        frames: image files of the units, for images and videos.
    """

    item_id: str
    title: str
    modality: str
    unit_start: int
    unit_end: int
    start: int
    end: int
    header: str
    body: str
    score: float
    frames: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Header and body: what the node encoder scored."""
        return joined(self.header, self.body)


def render(item: Item, unit_start: int, unit_end: int) -> str:
    """Text of the units ``[unit_start, unit_end)`` of an item under its context header."""
    return joined(*renderer(item)(unit_start, unit_end))


def whole(item: Item, score: float) -> Region:
    """The uncompressed item as one region."""
    return region(item, renderer(item), 0, len(item.units), score)


def region(item: Item, parts: Renderer, unit_start: int, unit_end: int, score: float) -> Region:
    """The region of units ``[unit_start, unit_end)``; ``parts`` is the item's :func:`renderer`."""
    native = _native(item, unit_start, unit_end)
    header, body = parts(unit_start, unit_end)
    frames = tuple(frame for unit in item.unit_frames[unit_start:unit_end] for frame in unit)
    return Region(
        item_id=item.item_id,
        title=item.title,
        modality=item.modality,
        unit_start=unit_start,
        unit_end=unit_end,
        start=native.start,
        end=native.end,
        header=header,
        body=body,
        score=score,
        frames=frames,
    )


def joined(header: str, body: str) -> str:
    """Header line(s), then the body; no empty line where one of them is empty."""
    return f"{header}\n{body}" if header and body else header or body


def renderer(item: Item) -> Renderer:
    """A function from a unit range to (header, body); a table's JSON is read once here.

    Texts lose white space at the ends of a body (sentences carry the blank before them); nothing
    else of the original is changed. Table rows are ``a | b | c``, a column without a name is
    ``column N``. Image and video units give the text recognised on screen.
    """
    if item.modality == "table":
        return _table(item)
    if item.modality == "text":
        return lambda start, end: (item.title, _text_of(item, start, end))
    if item.modality == "video":
        return lambda start, end: (_video_header(item, start, end), "\n".join(item.unit_texts[start:end]))
    return lambda start, end: (item.title, "\n".join(item.unit_texts[start:end]))


def _native(item: Item, unit_start: int, unit_end: int) -> Span:
    if unit_end > unit_start:
        return Span(item.units[unit_start].start, item.units[unit_end - 1].end)
    # Only an item without units has an empty region: a text is given as it is, the rest has no extent.
    return Span(0, len(item.content) if item.modality == "text" else 0)


def _text_of(item: Item, unit_start: int, unit_end: int) -> str:
    native = _native(item, unit_start, unit_end)
    return item.content[native.start : native.end].strip()


def _table(item: Item) -> Renderer:
    table = Table.from_json(item.content)
    width = max([len(table.header), *(len(row) for row in table.rows)], default=0)
    names = [name.strip() or f"column {n}" for n, name in enumerate(table.header, 1)]
    names += [f"column {n}" for n in range(len(names) + 1, width + 1)]
    caption = " - ".join(part for part in (item.title, table.section) if part)
    header = joined(caption, _row(names))
    rows = [_row(row) for row in table.rows]

    def parts(unit_start: int, unit_end: int) -> tuple[str, str]:
        native = _native(item, unit_start, unit_end)
        return header, "\n".join(rows[native.start : native.end])

    return parts


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return " | ".join(" ".join(cell.split()) for cell in cells)


def _video_header(item: Item, unit_start: int, unit_end: int) -> str:
    native = _native(item, unit_start, unit_end)
    return f"{item.title} [{_clock(native.start)}-{_clock(native.end)}]".strip() if item.units else item.title


def _clock(milliseconds: int) -> str:
    """Minutes and seconds, rounded down; minutes go past 59."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    return f"{minutes:02d}:{seconds:02d}"
