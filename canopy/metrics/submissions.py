"""A run's answers as the files that the official scripts read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from canopy.contracts import Question
from canopy.metrics import lvbench
from canopy.metrics.records import Predictions


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
