"""Native files through parser, corpus and metrics: what is submitted scores as the summary says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metric_world import PREDICTION_SCHEMA, TRACE_SCHEMA

from canopy import artefacts
from canopy.contracts import Question, read_questions
from canopy.corpora import merge, parse
from canopy.metrics.score import score
from canopy.metrics.stage import run
from canopy.settings.corpora import CorpusSettings, ParseSettings
from canopy.settings.tables import MetricsSettings

SHARED = Path(__file__).parents[1].parent / "shared" / "data"

FILES = {
    "hotpotqa": "hotpotqa/hotpot_train_v1.1.slice.json",
    "ottqa": "ottqa/released_data/dev.json",
    "nq": "nq/nq_open/NQ-open.dev.first500.jsonl",
    "mmqa": "mmqa/MMQA_dev.slice.jsonl.gz",
}


def _answer(place: int, question: Question) -> str:
    """Every third right, every third partly right, every third wrong."""
    right = "; ".join(question.answers) if question.answer_kind == "list" else question.answers[0]
    return (right, f"{right} indeed", "something else")[place % 3]


def _flat(figures: dict[str, Any], *path: str) -> dict[tuple[str, ...], float]:
    flat: dict[tuple[str, ...], float] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            flat |= _flat(value, *path, name)
        elif isinstance(value, int | float):
            flat[(*path, name)] = value
    return flat


def _run(directory: Path, questions: list[Question]) -> None:
    rows = [
        {
            "qid": q.qid, "benchmark": q.benchmark, "answer": _answer(place, q), "raw": "", "marked": True, "rounds": 1,
            "evidence_tokens": 1, "held_tokens": 1, "prompt_tokens": 1, "dropped": 0, "total_evidence_tokens": 1,
            "kept": [{"item_id": g.item_id, "unit_start": u, "unit_end": u + 1} for g in q.gold for u in g.units],
        }
        for place, q in enumerate(questions)
    ]  # fmt: skip
    with artefacts.build(directory, "run", {"name": "oracle"}) as artefact:
        pl.DataFrame(rows, schema=PREDICTION_SCHEMA).write_parquet(artefact.path / "predictions.parquet")
        hits = [
            {"qid": q.qid, "round": 1, "hits": [{"item_id": g.item_id, "score": 1.0} for g in q.gold]}
            for q in questions
        ]
        pl.DataFrame(hits, schema=TRACE_SCHEMA).write_parquet(artefact.path / "trace.parquet")


@pytest.mark.skipif(not SHARED.is_dir(), reason="real benchmark slices are not on this machine")
@pytest.mark.parametrize("benchmark", FILES)
def test_submission_of_a_run_scores_as_its_summary(tmp_path: Path, benchmark: str) -> None:
    native = SHARED / FILES[benchmark]
    splits = ParseSettings.parse('{"splits": {"train": "test", "dev": "test"}}')
    parse.run(benchmark, [native], splits, tmp_path / "parsed")
    merge.run([tmp_path / "parsed"], None, CorpusSettings(benchmarks=(benchmark,)), tmp_path / "corpus")
    questions = read_questions(tmp_path / "corpus" / "questions.parquet", "test")
    _run(tmp_path / "run", questions)
    run(MetricsSettings(name="oracle"), [tmp_path / "run"], tmp_path / "corpus", tmp_path / "metrics")
    summary = json.loads((tmp_path / "metrics" / "summary.json").read_text(encoding="utf-8"))["benchmarks"][benchmark]
    official = score(benchmark, native, tmp_path / "metrics" / "submissions" / f"{benchmark}.json")
    assert (official["missing"], official["unknown"]) == (0, 0)
    of_run, of_file = _flat(summary["official"]), _flat(official)
    shared = of_run.keys() & of_file.keys()
    assert {("em",), ("f1",), ("questions",)} <= shared
    assert {name: of_run[name] for name in shared} == pytest.approx({name: of_file[name] for name in shared})
    assert all(name in shared for name in of_file if name[0] in ("by_type", "by_level", "by_modality", "by_hops"))
    assert official["em"] == pytest.approx(1 / 3, abs=0.03)
    if benchmark == "hotpotqa":
        assert official["sp_em"] == 1  # all gold sentences were kept and nothing else
