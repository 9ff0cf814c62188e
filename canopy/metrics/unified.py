"""From the unified corpus and a run's rows to what the official scores take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from canopy.contracts import Question
from canopy.metrics import mmqa
from canopy.metrics.hotpotqa import Fact
from canopy.metrics.records import GoldAnswer, Prediction, Predictions

LIST_SEPARATOR = ";"
"""Between the parts of a MultimodalQA list answer: the reader writes one line of text."""

_HOTPOTQA_LEVELS = frozenset({"easy", "medium", "hard"})


def predictions_of(
    benchmark: str, questions: Sequence[Question], rows: Mapping[str, dict[str, Any]], items: Path
) -> Predictions:
    """Predictions under unified ids.

    MultimodalQA answers are split at semicolons. LVBench questions whose answer is empty count as
    unanswered and get no prediction; every other benchmark's empty answers are empty strings.

    Args:
        benchmark: benchmark of all the questions.
        questions: the questions that were asked.
        rows: the row of ``predictions.parquet`` of each, by unified id.
        items: the corpus's ``items.parquet``, for the titles of kept HotpotQA paragraphs.
    """
    answers: dict[str, Prediction] = {}
    for question in questions:
        text = rows[question.qid]["answer"].strip()
        if benchmark == "mmqa":
            answers[question.qid] = split_list(text)
        elif text or benchmark != "lvbench":
            answers[question.qid] = text
    supporting = _supporting(questions, rows, items) if benchmark == "hotpotqa" else None
    return Predictions(answers, supporting)


def split_list(text: str) -> Prediction:
    """The parts of a list answer, without empty ones; the text itself when there is one part."""
    parts = tuple(part.strip() for part in text.split(LIST_SEPARATOR) if part.strip())
    return parts if len(parts) > 1 else text


def gold_of(question: Question) -> GoldAnswer:
    """The gold answer of a question of the unified corpus, under its unified id."""
    native = json.loads(question.native)
    types = [label for label in question.question_type.split("|") if label]
    labels = tuple(("level" if label in _HOTPOTQA_LEVELS else "type", label) for label in types)
    if question.benchmark == "mmqa":
        labels = mmqa.labels(native.get("modality", ""), question.question_type)
    facts = frozenset((str(title), int(sentence)) for title, sentence in native.get("supporting_facts", []))
    return GoldAnswer(question.qid, question.answers, labels, facts)


def _supporting(
    questions: Sequence[Question], rows: Mapping[str, dict[str, Any]], items: Path
) -> dict[str, list[Fact]]:
    kept = {region["item_id"] for question in questions for region in rows[question.qid]["kept"]}
    titles = _titles(sorted(kept), items)
    facts: dict[str, list[Fact]] = {}
    for question in questions:
        # The parser notes how the record spells its gold paragraphs' titles and numbers their sentences.
        native = json.loads(question.native).get("items", {})
        found: set[Fact] = set()
        for region in rows[question.qid]["kept"]:
            item_id, units = region["item_id"], range(region["unit_start"], region["unit_end"])
            if item_id in native:
                note = native[item_id]
                for told in (note["sentences"][unit] for unit in units):
                    found.update((note["title"], n) for n in (told if isinstance(told, list) else [told]))
            elif item_id in titles:
                found.update((titles[item_id], unit) for unit in units)
        facts[question.qid] = sorted(found)
    return facts


def _titles(item_ids: Sequence[str], items: Path) -> dict[str, str]:
    frame = (
        pl.scan_parquet(items)
        .filter(pl.col("benchmark") == "hotpotqa", pl.col("item_id").is_in(item_ids))
        .select("item_id", "title")
        .collect(engine="streaming")
    )
    return dict(frame.iter_rows())
