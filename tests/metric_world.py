"""A small corpus and runs of two methods, as the stages before write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from canopy import artefacts
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, AnswerKind, Gold, Item, Question, Span, Split, frame_of

PREDICTION_SCHEMA: dict[str, Any] = {
    "qid": pl.String,
    "benchmark": pl.String,
    "answer": pl.String,
    "raw": pl.String,
    "marked": pl.Boolean,
    "rounds": pl.Int64,
    "evidence_tokens": pl.Int64,
    "held_tokens": pl.Int64,
    "prompt_tokens": pl.Int64,
    "dropped": pl.Int64,
    "total_evidence_tokens": pl.Int64,
    "kept": pl.List(pl.Struct({"item_id": pl.String, "unit_start": pl.Int64, "unit_end": pl.Int64})),
}

TRACE_SCHEMA: dict[str, Any] = {
    "qid": pl.String,
    "round": pl.Int64,
    "hits": pl.List(pl.Struct({"item_id": pl.String, "score": pl.Float64})),
}


def question(qid: str, answers: tuple[str, ...], kind: AnswerKind = "span", **more: Any) -> Question:
    split: Split = more.pop("split", "test")
    gold = more.pop("gold", ())
    return Question(qid, qid.split(":")[0], split, f"question {qid}", (), answers, kind, gold, **more)


QUESTIONS = [
    question("hotpotqa:h1", ("England",), question_type="bridge|easy",
             gold=(Gold("hotpotqa:A & B", (1,)), Gold("hotpotqa:C", (0, 1))),
             native='{"supporting_facts": [["A &amp; B", 0], ["C", 2]],'
                    ' "items": {"hotpotqa:A & B": {"title": "A &amp; B", "sentences": [0, 2]}}}'),
    question("hotpotqa:h2", (), question_type="bridge"),
    question("lvbench:1", ("A",), "letter", question_type="reasoning"),
    question("lvbench:2", ("B",), "letter", question_type="reasoning|summarization"),
    question("mmqa:m1", ("Paris", "London"), "list", question_type="TableQ", native='{"modality": "table"}'),
    question("nq:n1", ("Bobby Scott", "Bob Russell")),
    question("nq:n2", ("The",)),
    question("nq:t1", ("x",), split="train"),
    question("ottqa:o1", ("1996",)),
]  # fmt: skip

ANSWERS = {
    "hotpotqa:h1": "Kingdom of England",
    "hotpotqa:h2": "x",
    "lvbench:1": "A",
    "lvbench:2": "",
    "mmqa:m1": "London; Rome",
    "nq:n1": "Bob Russell",
    "nq:n2": "a",
    "ottqa:o1": "1996",
}


def make_corpus(directory: Path) -> Path:
    """Two HotpotQA paragraphs and the questions above."""
    items = [
        Item(f"hotpotqa:{t}", "hotpotqa", f"hotpotqa:{t}", "text", t, "x. y.", (Span(0, 3), Span(3, 5)))
        for t in ("A & B", "Z")
    ]
    facts = {
        "items": {"hotpotqa": {"text": 2}, "nq": {}},
        "questions": {"hotpotqa": {"test": 2}, "nq": {"test": 2, "train": 1}},
        "joined": {"hotpotqa": 1, "nq": 0},
        "gold_total": {"hotpotqa": 8, "nq": 0},
        "gold_missing": {"hotpotqa": 2, "nq": 0},
        "questions_without_gold": {"hotpotqa": 1, "nq": 3},
        "questions_left_out": {"hotpotqa": 4, "nq": 0},
        "raw": {
            b: {"items": n, "questions": 10, "quarantined": 1, "media_missing": 2, "media_unreadable": 3}
            for b, n in (("hotpotqa", 30), ("nq", 40))
        },
    }
    with artefacts.build(directory, "corpus", {}) as artefact:
        frame_of(items, ITEM_SCHEMA).write_parquet(artefact.path / "items.parquet")
        frame_of(QUESTIONS, QUESTION_SCHEMA).write_parquet(artefact.path / "questions.parquet")
        artefact.facts.update(facts)
    return directory


def make_run(directory: Path, method: str, answers: dict[str, str], tokens: int = 100) -> Path:
    """One shard of a run that gives these answers."""
    kept = {
        "hotpotqa:h1": [
            {"item_id": "hotpotqa:A & B", "unit_start": 0, "unit_end": 2},
            {"item_id": "hotpotqa:Z", "unit_start": 1, "unit_end": 2},
            {"item_id": "ottqa:t", "unit_start": 0, "unit_end": 4},
        ]
    }
    rows = [
        {
            "qid": qid,
            "benchmark": qid.split(":")[0],
            "answer": answer,
            "raw": answer,
            "marked": bool(answer),
            "rounds": 2,
            "evidence_tokens": tokens + place,
            "held_tokens": 2 * tokens + place,
            "prompt_tokens": tokens + place + 50,
            "dropped": int(qid == "nq:n1"),
            "total_evidence_tokens": 2 * tokens,
            "kept": kept.get(qid, []),
        }
        for place, (qid, answer) in enumerate(answers.items())
    ]
    with artefacts.build(directory, "run", {"name": method}) as artefact:
        pl.DataFrame(rows, schema=PREDICTION_SCHEMA).write_parquet(artefact.path / "predictions.parquet")
        hits = [[{"item_id": "hotpotqa:Z", "score": 0.9}], [{"item_id": "hotpotqa:A & B", "score": 0.5}]]
        qids = [qid for qid in answers if qid == "hotpotqa:h1"]
        trace = [{"qid": qid, "round": n, "hits": found} for qid in qids for n, found in enumerate(hits, start=1)]
        pl.DataFrame(trace, schema=TRACE_SCHEMA).write_parquet(artefact.path / "trace.parquet")
    return directory
