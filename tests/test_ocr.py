from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from media import SHARED, card
from PIL import Image, ImageDraw, ImageFont

from canopy.artefacts import sha256_file
from canopy.video.ocr import Line, ScreenText, merged, reading_order


def read(reader: ScreenText, path: Path) -> list[str]:
    return reader.rows(path, sha256_file(path))


def sign(path: Path, text: str) -> Path:
    card(text).save(path)
    return path


def test_known_text_is_recognised_exactly_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    reader = ScreenText(tmp_path / "text", 0.5)
    assert read(reader, sign(tmp_path / "a.png", "Harbour Museum 1874")) == ["Harbour Museum 1874"]
    assert reader.calls == 1
    assert reader.forward_seconds > 0


def test_rows_are_read_from_top_to_bottom_and_left_to_right(tmp_path: Path) -> None:
    image = Image.new("RGB", (640, 360), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(26)
    for place, text in {
        (400, 120): "Entry 12",
        (40, 250): "Captain Orn",
        (40, 40): "Marlune",
        (40, 118): "Founded",
    }.items():
        draw.text(place, text, font=font, fill="black")
    image.save(tmp_path / "a.png")
    assert read(ScreenText(tmp_path, 0.5), tmp_path / "a.png") == ["Marlune", "Founded Entry 12", "Captain Orn"]


def test_same_content_is_recognised_once_also_by_a_later_reader(tmp_path: Path) -> None:
    first = ScreenText(tmp_path / "text", 0.5)
    rows = read(first, sign(tmp_path / "a.png", "Vessel 20"))
    assert read(first, sign(tmp_path / "same.png", "Vessel 20")) == rows
    assert (first.calls, first.cached) == (1, 1)
    later = ScreenText(tmp_path / "text", 0.5)
    assert read(later, tmp_path / "a.png") == rows
    assert (later.calls, later.cached, later.forward_seconds) == (0, 1, 0.0)


def test_a_damaged_entry_is_recognised_again(tmp_path: Path) -> None:
    image, reader = sign(tmp_path / "a.png", "Vessel 20"), ScreenText(tmp_path / "text", 0.5)
    read(reader, image)
    (entry,) = (tmp_path / "text").rglob("*.json")
    whole = entry.read_bytes()
    for calls, damage in enumerate([b"", b'[["Ves', b"{}", b'[["Vessel"]]', b"\xff\xfe"], start=2):
        entry.write_bytes(damage)
        assert read(reader, image) == ["Vessel 20"]
        assert reader.calls == calls
        assert entry.read_bytes() == whole
    assert [p.name for p in entry.parent.iterdir()] == [entry.name], "a temporary file was left"


def test_lines_below_the_confidence_are_dropped_without_a_new_call(tmp_path: Path) -> None:
    image = sign(tmp_path / "a.png", "Vessel 20")
    read(ScreenText(tmp_path / "text", 0.5), image)
    (entry,) = (tmp_path / "text").rglob("*.json")
    lines = json.loads(entry.read_text())
    entry.write_text(json.dumps([*lines, ["smudge", 0.4, 0.0, 0.0, 10.0]]))
    assert read(ScreenText(tmp_path / "text", 0.5), image) == ["Vessel 20"]
    assert read(ScreenText(tmp_path / "text", 0.3), image) == ["smudge", "Vessel 20"]


def test_images_too_small_for_text_have_none(tmp_path: Path) -> None:
    reader = ScreenText(tmp_path / "text", 0.5)
    for size in [(1, 1), (3, 400), (400, 3)]:
        Image.new("RGB", size, "red").save(tmp_path / "a.png")
        assert read(reader, tmp_path / "a.png") == []


def test_a_photo_of_writing_gives_some_of_its_signs(tmp_path: Path) -> None:
    photo = SHARED / "photos" / "text.png"
    if not photo.is_file():
        pytest.skip(f"{photo} is not here: it lies beside the repository")
    # Handwritten formulas at a slant, among them "(t-x)": not to be read exactly, but not blank either.
    assert any("(" in row for row in read(ScreenText(tmp_path / "text", 0.5), photo))


def test_rows_that_stand_over_frames_are_kept_once() -> None:
    assert (
        merged([["Marlune", "Part 1"], ["Marlune", "Part 2"], ["Part 2", "End"]]) == "Marlune / Part 1 / Part 2 / End"
    )
    assert merged([["The harbour."], ["The  Harbour"]]) == "The harbour."
    assert merged([["On"], [], ["On"]]) == "On / On", "a row that comes back is said again"
    assert merged([]) == ""


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), unique=True, max_size=20), st.randoms())
def test_a_grid_of_words_is_read_in_order(cells: list[tuple[int, int]], shuffle: object) -> None:
    lines = [Line(f"{r}.{c}", 1.0, c * 50.0, r * 30.0 + c % 3, r * 30.0 + 20 + c % 3) for r, c in cells]
    shuffle.shuffle(lines)  # type: ignore[attr-defined]
    expected = [" ".join(f"{r}.{c}" for c in range(10) if (r, c) in cells) for r in range(10)]
    assert reading_order(lines) == [row for row in expected if row]
