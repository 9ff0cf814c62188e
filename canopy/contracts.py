"""The rows that stages exchange: items, questions and the regions kept of an item.

Tables are Parquet files written by Polars; the schemas below are the contract between stages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import polars as pl

from canopy.errors import UserError
from canopy.settings.base import Split as Split

Modality = Literal["text", "table", "image", "video"]
AnswerKind = Literal["span", "list", "letter"]

BENCHMARKS: tuple[str, ...] = ("nq", "hotpotqa", "ottqa", "mmqa", "lvbench")
MODALITIES: tuple[Modality, ...] = ("text", "table", "image", "video")


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open native range: characters of a text, rows of a table, milliseconds of a video."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Item:
    """One retrievable item, an ordered list of minimal units.

    Attributes:
        item_id: unique over the corpus, ``<benchmark>:<native id>``.
        benchmark: the benchmark whose files the item comes from.
        doc_id: the native document that the item is a part of (article, web page, whole video).
        modality: text, table, image or video.
        title: title of the document, unescaped.
        content: the text; for tables, the JSON of a :class:`Table`; for media, the file's path.
        units: one native range a minimal unit, in order (sentences; rows; segments; one for an
            image). Empty for a video that has not been through the video stage.
        groups: native structure above the units (paragraphs, row groups): half-open *unit* ranges
            that partition all units in order; empty where there is none.
        unit_texts: for images and videos, the text of each unit (recognised on screen); else empty.
        unit_frames: for images and videos, the image files of each unit; else empty.
        media_sha256: content hash of the media file; empty string for text and tables.
        source: raw file and record, for error messages.
    """

    item_id: str
    benchmark: str
    doc_id: str
    modality: Modality
    title: str
    content: str
    units: tuple[Span, ...]
    groups: tuple[Span, ...] = ()
    unit_texts: tuple[str, ...] = ()
    unit_frames: tuple[tuple[str, ...], ...] = ()
    media_sha256: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The content of a table item: column headers and rows of cell texts, all of one width."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    section: str = ""

    def to_json(self) -> str:
        """The JSON text stored in :attr:`Item.content`."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Table:
        """Read what :meth:`to_json` wrote."""
        raw = json.loads(text)
        return cls(tuple(raw["header"]), tuple(tuple(r) for r in raw["rows"]), raw["section"])


@dataclass(frozen=True, slots=True)
class Gold:
    """Gold evidence in one item: the indices of its gold units."""

    item_id: str
    units: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One question (the query of round 1) with its gold answers and evidence.

    Attributes:
        qid: unique over the corpus, ``<benchmark>:<native id>``.
        choices: option texts of a multiple-choice question, else empty.
        answers: accepted answers; all parts of one answer when ``answer_kind`` is ``list``;
            the letter when it is ``letter``.
        gold: gold evidence in the order of the reasoning, where the benchmark gives one.
        gold_missing: gold references of the native record that could not be located.
        question_type: the benchmark's own type label(s), joined by ``|``.
        native: what the official metric needs besides the answers, as a JSON object.
    """

    qid: str
    benchmark: str
    split: Split
    question: str
    choices: tuple[str, ...]
    answers: tuple[str, ...]
    answer_kind: AnswerKind
    gold: tuple[Gold, ...]
    gold_missing: int = 0
    question_type: str = ""
    native: str = "{}"


_SPAN = pl.Struct({"start": pl.Int64, "end": pl.Int64})

ITEM_SCHEMA: dict[str, Any] = {
    "item_id": pl.String,
    "benchmark": pl.String,
    "doc_id": pl.String,
    "modality": pl.String,
    "title": pl.String,
    "content": pl.String,
    "units": pl.List(_SPAN),
    "groups": pl.List(_SPAN),
    "unit_texts": pl.List(pl.String),
    "unit_frames": pl.List(pl.List(pl.String)),
    "media_sha256": pl.String,
    "source": pl.String,
}

QUESTION_SCHEMA: dict[str, Any] = {
    "qid": pl.String,
    "benchmark": pl.String,
    "split": pl.String,
    "question": pl.String,
    "choices": pl.List(pl.String),
    "answers": pl.List(pl.String),
    "answer_kind": pl.String,
    "gold": pl.List(pl.Struct({"item_id": pl.String, "units": pl.List(pl.Int64)})),
    "gold_missing": pl.Int64,
    "question_type": pl.String,
    "native": pl.String,
}


def frame_of(rows: Iterable[Item] | Iterable[Question], schema: dict[str, Any]) -> pl.DataFrame:
    """Rows as a Polars frame with exactly the given schema (also when there are none)."""
    return pl.DataFrame([asdict(r) for r in rows], schema=schema)


def item_from_row(row: dict[str, Any]) -> Item:
    """An :class:`Item` from one row of a frame with :data:`ITEM_SCHEMA`."""
    values = {f.name: row[f.name] for f in fields(Item)}
    values["units"] = tuple(Span(**s) for s in row["units"])
    values["groups"] = tuple(Span(**s) for s in row["groups"])
    values["unit_texts"] = tuple(row["unit_texts"])
    values["unit_frames"] = tuple(tuple(f) for f in row["unit_frames"])
    return Item(**values)


def question_from_row(row: dict[str, Any]) -> Question:
    """A :class:`Question` from one row of a frame with :data:`QUESTION_SCHEMA`."""
    values = {f.name: row[f.name] for f in fields(Question)}
    values["choices"] = tuple(row["choices"])
    values["answers"] = tuple(row["answers"])
    values["gold"] = tuple(Gold(g["item_id"], tuple(g["units"])) for g in row["gold"])
    return Question(**values)


def read_frame(path: Path, schema: dict[str, Any]) -> pl.DataFrame:
    """Read a Parquet file and check its columns.

    Raises:
        UserError: the file is missing, unreadable, or has other columns.
    """
    if not path.is_file():
        raise UserError(f"{path} does not exist: run the stage that makes it first")
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UserError(f"{path} is not a readable Parquet file ({error}): remove it and rerun the stage") from error
    if dict(frame.schema) != dict(pl.Schema(schema)):
        raise UserError(f"{path} has columns {frame.columns}, expected {list(schema)}: made by another version, rerun")
    return frame


def read_items(path: Path) -> Iterator[Item]:
    """The items of a Parquet file, in file order."""
    return (item_from_row(r) for r in read_frame(path, ITEM_SCHEMA).iter_rows(named=True))


def read_questions(path: Path, split: Split | None = None) -> list[Question]:
    """The questions of a Parquet file, in file order; only those of ``split`` when given."""
    rows = read_frame(path, QUESTION_SCHEMA).iter_rows(named=True)
    return [question_from_row(r) for r in rows if split is None or r["split"] == split]
