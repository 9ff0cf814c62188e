"""Where parsers put items and questions: Parquet files written in row groups, in constant memory."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Item, Question, Span
from canopy.corpora.quarantine import Quarantine

ROWS = 4096


class RowWriter:
    """Rows to one Parquet file by way of part files, so that no more than :data:`ROWS` rows are in memory."""

    def __init__(self, path: Path, schema: dict[str, Any]) -> None:
        """Write to ``path`` when closed."""
        self._path = path
        self._parts = path.with_name(f".{path.name}.parts")
        self._parts.mkdir()
        self._schema = schema
        self._lines: list[str] = []
        self._written = 0
        self.count = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row, its values in the order of the schema."""
        self._lines.append(json.dumps(dict(zip(self._schema, row, strict=True)), ensure_ascii=False))
        self.count += 1
        if len(self._lines) >= ROWS:
            self._flush()

    def close(self) -> None:
        """Join the parts into the file."""
        self._flush()
        pl.scan_parquet(sorted(self._parts.iterdir())).sink_parquet(
            self._path, row_group_size=ROWS, compression="zstd", maintain_order=True
        )
        shutil.rmtree(self._parts)

    def _flush(self) -> None:
        if not self._lines and self._written:
            return
        if self._lines:
            # By way of JSON: Polars builds nested columns from Python lists ten times slower.
            frame = pl.read_ndjson("\n".join(self._lines).encode(), schema=self._schema)
        else:
            frame = pl.DataFrame(schema=self._schema)
        frame.write_parquet(self._parts / f"{self._written:08d}.parquet", compression="lz4")
        self._written += 1
        self._lines = []


class Sink:
    """The output of one `parse`: items, questions, quarantine, notices, counts."""

    def __init__(self, directory: Path) -> None:
        """Write into an existing directory."""
        self.quarantine = Quarantine(directory)
        self.facts: Counter[str] = Counter()
        self.splits: Counter[str] = Counter()
        self.modalities: Counter[str] = Counter()
        self.gold = 0
        self.gold_missing = 0
        self._items = RowWriter(directory / "items.parquet", ITEM_SCHEMA)
        self._questions = RowWriter(directory / "questions.parquet", QUESTION_SCHEMA)

    @property
    def items(self) -> int:
        """Items written so far."""
        return self._items.count

    @property
    def questions(self) -> int:
        """Questions written so far."""
        return self._questions.count

    def item(self, item: Item) -> None:
        """Write one item."""
        self.modalities[item.modality] += 1
        self._items.add(
            (
                item.item_id,
                item.benchmark,
                item.doc_id,
                item.modality,
                item.title,
                item.content,
                _spans(item.units),
                _spans(item.groups),
                item.unit_texts,
                item.unit_frames,
                item.media_sha256,
                item.source,
            )
        )

    def question(self, question: Question) -> None:
        """Write one question."""
        self.splits[question.split] += 1
        self.gold += len(question.gold)
        self.gold_missing += question.gold_missing
        self._questions.add(
            (
                question.qid,
                question.benchmark,
                question.split,
                question.question,
                question.choices,
                question.answers,
                question.answer_kind,
                [{"item_id": g.item_id, "units": g.units} for g in question.gold],
                question.gold_missing,
                question.question_type,
                question.native,
            )
        )

    def close(self) -> None:
        """Finish all files."""
        self._items.close()
        self._questions.close()
        self.quarantine.close()


def _spans(spans: tuple[Span, ...]) -> list[dict[str, int]]:
    return [{"start": s.start, "end": s.end} for s in spans]
