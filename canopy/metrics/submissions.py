"""A run's answers as predictions, and as files that the official scripts read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from canopy.contracts import Question
from canopy.metrics import lvbench
from canopy.metrics.hotpotqa import Fact
from canopy.metrics.records import Prediction, Predictions

LIST_SEPARATOR = ";"
"""Between the parts of a MultimodalQA list answer: the reader writes one line of text."""


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


def submission(benchmark: str, questions: Iterable[Question], predictions: Predictions) -> Any:
    """The JSON value of the benchmark's own submission file, under native ids.

    nq: a list of ``{question, prediction}``, to be written one a line for the official script;
    hotpotqa: ``{"answer": {...}, "sp": {...}}``; ottqa: a list of ``{question_id, pred}``; mmqa: id to
    answer or list of answers; lvbench: uid to letter, without unanswered questions.
    """
    answers = predictions.answers
    asked = [(q, q.qid.removeprefix(f"{benchmark}:")) for q in questions]
    if benchmark == "nq":
        return [{"question": q.question, "prediction": answers[q.qid]} for q, _ in asked]
    if benchmark == "ottqa":
        return [{"question_id": native, "pred": answers[q.qid]} for q, native in asked]
    if benchmark == "hotpotqa":
        facts = predictions.supporting or {}
        return {
            "answer": {native: answers[q.qid] for q, native in asked},
            "sp": {native: [list(fact) for fact in facts.get(q.qid, [])] for q, native in asked},
        }
    if benchmark == "lvbench":
        return {native: lvbench.official_letter(str(answers[q.qid])) for q, native in asked if q.qid in answers}
    return {native: answers[q.qid] for q, native in asked}


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
                found.update((native[item_id]["title"], native[item_id]["sentences"][unit]) for unit in units)
            elif item_id in titles:
                found.update((titles[item_id], unit) for unit in units)
        facts[question.qid] = sorted(found)
    return facts


def _titles(item_ids: Sequence[str], items: Path) -> dict[str, str]:
    frame = (
        pl.scan_parquet(items)
        .filter(pl.col("benchmark") == "hotpotqa", pl.col("item_id").is_in(item_ids))
        .select("item_id", "title")
        .collect()
    )
    return dict(frame.iter_rows())
