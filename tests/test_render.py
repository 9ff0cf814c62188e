from __future__ import annotations

import pytest

from canopy.contracts import Item, Span, Table
from canopy.regions.render import render, whole

TEXT = "First one. Second, longer. Third."
SENTENCES = (Span(0, 10), Span(10, 26), Span(26, 33))


def text_item(title: str = "Ship", content: str = TEXT, units: tuple[Span, ...] = SENTENCES) -> Item:
    return Item("nq:1", "nq", "d", "text", title, content, units)


def table_item(table: Table, title: str = "Ships") -> Item:
    units = tuple(Span(n, n + 1) for n in range(len(table.rows)))
    return Item("ottqa:1", "ottqa", "d", "table", title, table.to_json(), units)


def test_text_is_the_title_and_the_original_slice() -> None:
    assert render(text_item(), 1, 3) == "Ship\nSecond, longer. Third."
    assert render(text_item(title=""), 0, 1) == "First one."


def test_the_whole_text_has_every_character() -> None:
    region = whole(text_item(), 0.5)
    assert (region.header, region.body, region.score) == ("Ship", TEXT, 0.5)
    assert (region.start, region.end, region.unit_start, region.unit_end) == (0, 33, 0, 3)


def test_table_regions_carry_title_section_and_headers() -> None:
    item = table_item(Table(("Name", "", "Port"), (("Ada", "1900", "Bern"), ("Bea", "", "Rome")), "Fleet"))
    assert render(item, 1, 2) == "Ships - Fleet\nName | column 2 | Port\nBea |  | Rome"
    assert render(item, 0, 2).count("Name | column 2 | Port") == 1


def test_a_table_without_header_names_its_columns_by_number() -> None:
    assert render(table_item(Table((), (("a", "b"),))), 0, 1) == "Ships\ncolumn 1 | column 2\na | b"


def test_a_table_without_rows_is_its_header() -> None:
    region = whole(table_item(Table(("Name", "Port"), ())), 0.0)
    assert (region.header, region.body, region.text) == ("Ships\nName | Port", "", "Ships\nName | Port")
    assert (region.start, region.end) == (0, 0)


def test_line_breaks_inside_cells_do_not_make_rows() -> None:
    item = table_item(Table(("Name",), (("two\nlines",), ("x",))))
    assert whole(item, 0.0).body == "two lines\nx"


def test_video_regions_carry_their_own_time_span_texts_and_frames() -> None:
    units = (Span(3_570_000, 3_600_000), Span(3_600_000, 3_630_000), Span(3_630_000, 3_641_500))
    frames = (("a.jpg", "b.jpg"), ("c.jpg",), ())
    item = Item("lvbench:v#11", "lvbench", "lvbench:v", "video", "Film", "v.mp4", units,
                unit_texts=("one", "two", "three"), unit_frames=frames)  # fmt: skip
    assert render(item, 0, 2) == "Film [59:30-60:30]\none\ntwo"
    region = whole(item, 0.0)
    assert region.header == "Film [59:30-60:41]"
    assert region.frames == ("a.jpg", "b.jpg", "c.jpg")
    assert (region.start, region.end) == (3_570_000, 3_641_500)


@pytest.mark.parametrize(("texts", "expected"), [(("STOP",), "Sign\nSTOP"), (("",), "Sign"), ((), "Sign")])
def test_an_image_is_its_title_and_recognised_text(texts: tuple[str, ...], expected: str) -> None:
    item = Item("mmqa:i", "mmqa", "d", "image", "Sign", "i.png", (Span(0, 1),), unit_texts=texts)
    assert render(item, 0, 1) == expected


def test_a_text_without_units_is_given_as_it_is() -> None:
    assert render(text_item(units=(), content="Loose text."), 0, 0) == "Ship\nLoose text."
    assert render(text_item(units=(), content=""), 0, 0) == "Ship"
    assert render(Item("v", "lvbench", "v", "video", "Film", "v.mp4", ()), 0, 0) == "Film"
