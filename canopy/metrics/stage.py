"""The metrics stage: one run's predictions to scores a question, a summary and submission files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from canopy.artefacts import build, check_files, read_manifest, write_json
from canopy.contracts import BENCHMARKS, Question, read_questions
from canopy.errors import UserError
from canopy.metrics.evidence import evidence_scores
from canopy.metrics.official import question_scores, report
from canopy.metrics.records import SCORES_SCHEMA, GoldAnswer, Predictions
from canopy.metrics.submissions import submission
from canopy.metrics.unified import gold_of, predictions_of
from canopy.settings.tables import MetricsSettings

Row = dict[str, Any]

_NEEDED: dict[str, Any] = {
    "qid": pl.String,
    "answer": pl.String,
    "marked": pl.Boolean,
    "rounds": pl.Int64,
    "evidence_tokens": pl.Int64,
    "held_tokens": pl.Int64,
    "prompt_tokens": pl.Int64,
    "dropped": pl.Int64,
    "total_evidence_tokens": pl.Int64,
    "kept": pl.List(pl.Struct({"item_id": pl.String, "unit_start": pl.Int64, "unit_end": pl.Int64})),
}
_HITS: dict[str, Any] = {
    "qid": pl.String,
    "round": pl.Int64,
    "hits": pl.List(pl.Struct({"item_id": pl.String, "score": pl.Float64})),
}
_MEANS = (
    "evidence_tokens",
    "held_tokens",
    "total_evidence_tokens",
    "prompt_tokens",
    "dropped",
    "cut",
    "rounds",
    "answered",
    "marked",
)


def run(settings: MetricsSettings, runs: Sequence[Path], corpus: Path, out: Path) -> None:
    """Score one method's run over all test questions.

    Writes ``scores.parquet`` (a row a question with gold answers), ``summary.json`` (means a benchmark,
    with the official figures) and ``submissions/<benchmark>.json`` in the benchmarks' own formats.

    Args:
        settings: names the method.
        runs: the run's shards, in any order.
        corpus: the corpus that the questions come from.
        out: the artefact directory to make.

    Raises:
        UserError: a shard belongs to another method, or a test question has no prediction or several.
    """
    questions = read_questions(corpus / "questions.parquet", "test")
    if not questions:
        raise UserError(f"{corpus / 'questions.parquet'} has no test questions: nothing to score")
    rows = _matched(questions, _predictions(settings.name, runs), runs)
    hits = _hits(runs)
    with build(out, "metrics", settings.model_dump(mode="json"), [*runs, corpus]) as artefact:
        scores: list[Row] = []
        summary: dict[str, Any] = {}
        (artefact.path / "submissions").mkdir()
        for benchmark in BENCHMARKS:
            asked = [q for q in questions if q.benchmark == benchmark]
            if not asked:
                continue
            predictions = predictions_of(benchmark, asked, rows, corpus / "items.parquet")
            golds = [gold_of(q) for q in asked]
            scored = [(q, g) for q, g in zip(asked, golds, strict=True) if g.answers]
            scores += [_score(settings.name, q, rows[q.qid], hits.get(q.qid, []), g, predictions) for q, g in scored]
            summary[benchmark] = _summary(benchmark, golds, predictions, rows)
            write_json(artefact.path / "submissions" / f"{benchmark}.json", submission(benchmark, asked, predictions))
        pl.DataFrame(scores, schema=SCORES_SCHEMA).write_parquet(artefact.path / "scores.parquet")
        write_json(artefact.path / "summary.json", _with_average(settings.name, summary))
        artefact.facts["questions"] = {b: s["questions"] for b, s in summary.items()}
        artefact.facts["without_gold"] = {b: s["without_gold"] for b, s in summary.items()}


def _predictions(method: str, runs: Sequence[Path]) -> pl.DataFrame:
    frames = []
    for directory in runs:
        named = read_manifest(directory)["settings"].get("name", method)
        if named != method:
            raise UserError(f"{directory} is a run of {named}, not of {method}: give the shards of one method")
        check_files(directory, ("predictions.parquet", "trace.parquet"))
        frames.append(_read(directory / "predictions.parquet", _NEEDED))
    if not frames:
        raise UserError(f"no run of {method} was given: pass every shard by --run")
    return pl.concat(frames)


def _hits(runs: Sequence[Path]) -> dict[str, list[list[str]]]:
    """Item ids of the hits of each question, round by round."""
    rounds: dict[str, list[list[str]]] = {}
    for directory in runs:
        for row in _read(directory / "trace.parquet", _HITS).sort("qid", "round").iter_rows(named=True):
            rounds.setdefault(row["qid"], []).append([hit["item_id"] for hit in row["hits"]])
    return rounds


def _read(path: Path, schema: dict[str, Any]) -> pl.DataFrame:
    try:
        return pl.read_parquet(path, columns=list(schema)).cast(pl.Schema(schema))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UserError(f"{path} is not a file of this version ({error}): rerun the method") from error


def _matched(questions: Sequence[Question], frame: pl.DataFrame, runs: Sequence[Path]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    twice = []
    for row in frame.iter_rows(named=True):
        if row["qid"] in rows:
            twice.append(row["qid"])
        rows[row["qid"]] = row
    where = ", ".join(str(directory) for directory in runs)
    known = {q.qid for q in questions}
    for qids, what in (
        (twice, "have more than one prediction; give every shard once"),
        ([q.qid for q in questions if q.qid not in rows], "have no prediction; give all shards"),
        ([qid for qid in rows if qid not in known], "are not test questions of this corpus; rerun the method"),
    ):
        if qids:
            raise UserError(
                f"{len(qids)} questions ({', '.join(qids[:3])}{', ...' * (len(qids) > 3)}) of {where} {what}"
            )
    for row in rows.values():
        row["answered"] = bool(row["answer"].strip())
        row["cut"] = row["dropped"] > 0
    return rows


def _score(
    method: str,
    question: Question,
    row: Row,
    rounds: Sequence[Sequence[str]],
    gold: GoldAnswer,
    predictions: Predictions,
) -> Row:
    figures = question_scores(question.benchmark, predictions.answers.get(gold.qid), gold)
    return {
        "method": method,
        "benchmark": question.benchmark,
        **{name: figures.get(name) for name in ("em", "f1", "accuracy")},
        **evidence_scores(question, rounds, row["kept"], row["dropped"]),
        **{name: row[name] for name in SCORES_SCHEMA if name in row},
    }


def _summary(
    benchmark: str, golds: Sequence[GoldAnswer], predictions: Predictions, rows: Mapping[str, Row]
) -> dict[str, Any]:
    scored = [g for g in golds if g.answers]
    summary: dict[str, Any] = {
        "questions": len(scored),
        "without_gold": len(golds) - len(scored),
    }
    if not scored:
        return summary
    official = report(benchmark, golds, predictions)
    # The headline counts unanswered questions as wrong, so that all methods are judged on the same questions.
    headline = (
        {"accuracy": official["accuracy_all"]} if benchmark == "lvbench" else {k: official[k] for k in ("em", "f1")}
    )
    listed = {"empty_gold": official.pop("empty_gold")}
    means = {name: sum(rows[g.qid][name] for g in scored) / len(scored) for name in _MEANS}
    return summary | headline | means | listed | {"official": official}


def _with_average(method: str, summary: dict[str, Any]) -> dict[str, Any]:
    headlines = {b: s["accuracy" if b == "lvbench" else "em"] for b, s in summary.items() if s["questions"]}
    return {
        "method": method,
        "average": sum(headlines.values()) / len(headlines) if headlines else None,
        "average_over": list(headlines),
        "benchmarks": summary,
    }
