from __future__ import annotations

from pathlib import Path
from typing import get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.contracts import (
    ITEM_SCHEMA,
    MODALITIES,
    QUESTION_SCHEMA,
    AnswerKind,
    Gold,
    Item,
    Question,
    Span,
    Split,
    Table,
    frame_of,
    read_frame,
    read_items,
    read_questions,
)
from canopy.errors import UserError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SPANS = st.lists(st.builds(Span, st.integers(0, 99), st.integers(100, 2**40)), max_size=4).map(tuple)
ITEMS = st.builds(
    Item,
    item_id=TEXT,
    benchmark=TEXT,
    doc_id=TEXT,
    modality=st.sampled_from(MODALITIES),
    title=TEXT,
    content=TEXT,
    units=SPANS,
    groups=SPANS,
    unit_texts=st.lists(TEXT, max_size=3).map(tuple),
    unit_frames=st.lists(st.lists(TEXT, max_size=2).map(tuple), max_size=3).map(tuple),
    media_sha256=TEXT,
    source=TEXT,
)
QUESTIONS = st.builds(
    Question,
    qid=TEXT,
    benchmark=TEXT,
    split=st.sampled_from(get_args(Split)),
    question=TEXT,
    choices=st.lists(TEXT, max_size=4).map(tuple),
    answers=st.lists(TEXT, max_size=3).map(tuple),
    answer_kind=st.sampled_from(get_args(AnswerKind)),
    gold=st.lists(st.builds(Gold, TEXT, st.lists(st.integers(0, 999), max_size=3).map(tuple)), max_size=3).map(tuple),
    gold_missing=st.integers(0, 5),
    question_type=TEXT,
    native=st.just("{}"),
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contracts") / "rows.parquet"


@settings(max_examples=50, deadline=None)
@given(st.lists(ITEMS, max_size=4))
def test_items_come_back_as_they_were(path: Path, items: list[Item]) -> None:
    frame_of(items, ITEM_SCHEMA).write_parquet(path)
    assert list(read_items(path)) == items


@settings(max_examples=50, deadline=None)
@given(st.lists(QUESTIONS, max_size=4))
def test_questions_come_back_as_they_were(path: Path, questions: list[Question]) -> None:
    frame_of(questions, QUESTION_SCHEMA).write_parquet(path)
    assert read_questions(path) == questions
    assert read_questions(path, "dev") == [q for q in questions if q.split == "dev"]


@given(st.lists(TEXT, max_size=3), st.integers(0, 4), TEXT)
def test_tables_come_back_as_they_were(header: list[str], rows: int, section: str) -> None:
    table = Table(tuple(header), tuple(tuple(f"{r}:{h}" for h in header) for r in range(rows)), section)
    assert Table.from_json(table.to_json()) == table


def test_table_cells_stay_readable_in_the_file() -> None:
    assert "Åland" in Table(("Name",), (("Åland",),)).to_json()


def test_a_missing_file_says_to_run_the_stage(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"absent\.parquet does not exist: run the stage"):
        read_frame(tmp_path / "absent.parquet", ITEM_SCHEMA)
    with pytest.raises(UserError, match="does not exist"):
        read_frame(tmp_path, ITEM_SCHEMA)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, just words"])
def test_a_damaged_file_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.parquet is not a readable Parquet file"):
        read_frame(tmp_path / "a.parquet", ITEM_SCHEMA)


def test_a_file_cut_in_half_says_so(tmp_path: Path) -> None:
    item = Item("nq:1", "nq", "nq:1", "text", "Title", "Words", (Span(0, 5),))
    frame_of([item], ITEM_SCHEMA).write_parquet(tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="is not a readable Parquet file"):
        list(read_items(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.drop("groups"),
        lambda f: f.with_columns(extra=pl.lit(1)),
        lambda f: f.with_columns(pl.col("title").cast(pl.Categorical)),
        lambda f: f.rename({"doc_id": "document"}),
        lambda f: f.with_columns(units=pl.lit(None, pl.List(pl.Int64))),
    ],
)
def test_other_columns_are_refused_by_name(tmp_path: Path, change: object) -> None:
    frame = change(frame_of([], ITEM_SCHEMA))  # type: ignore[operator]
    frame.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a\.parquet has columns .* expected \['item_id'.*rerun"):
        list(read_items(tmp_path / "a.parquet"))
    with pytest.raises(UserError, match="expected \\['qid'"):
        read_questions(tmp_path / "a.parquet")
