"""The run stage: one method over one shard of the test questions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from canopy import artefacts
from canopy.contracts import Question, read_questions
from canopy.errors import UserError
from canopy.journal import Journal
from canopy.methods.course import PREDICTION_SCHEMA, TRACE_SCHEMA
from canopy.methods.loop import Batch, answer_batch
from canopy.methods.tools import Places, Tools
from canopy.progress import track
from canopy.provenance import code_digest
from canopy.settings.runs import RunSettings


def run(settings: RunSettings, places: Places, out: Path, shard: int = 0, shards: int = 1) -> None:
    """Answer the questions of one shard and write predictions.parquet and trace.parquet.

    Both hold the same bytes whether the job ran through or was killed and started again; wall times
    are in the manifest's facts only.

    Raises:
        UserError: a needed directory is missing, or the shard number is out of range.
    """
    used = places.used(settings)
    questions = shard_of(read_questions(places.corpus / "questions.parquet", "test"), shard, shards)
    tools = Tools.load(settings, places)
    key = {
        "spec": settings.model_dump(mode="json"),
        "shard": [shard, shards],
        "inputs": [artefacts.content_id(directory) for directory in used],
        "models": [tools.engine.fingerprint, *(encoder.fingerprint for encoder in tools.encoders)],
        "code": code_digest("canopy.cli.run"),
    }
    journal = Journal(out, key)
    with artefacts.build(out, "run", settings.model_dump(mode="json"), used) as artefact:
        try:
            batches = run_batches(questions, settings, tools, journal)
        finally:
            journal.close()
        write(artefact.path, batches)
        artefact.facts |= summary(batches) | {"shard": shard, "shards": shards, "batches_resumed": journal.resumed}
    journal.remove()


def run_batches(questions: Sequence[Question], settings: RunSettings, tools: Tools, journal: Journal) -> list[Batch]:
    """Run the batches that the journal lacks; returns all batches in order."""
    size = settings.question_batch
    starts = range(0, len(questions), size)
    for number, start in enumerate(track(starts, f"{settings.name}: question batches")):
        if number in journal:
            continue
        before = tools.forward_seconds()
        batch = answer_batch(questions[start : start + size], settings, tools.engine, tools.search())
        batch.seconds["forward"] = tools.forward_seconds() - before
        journal.add(number, json.dumps(asdict(batch)).encode())
    return [Batch(**json.loads(journal.get(number))) for number in range(len(starts))]


def shard_of(questions: Sequence[Question], shard: int, shards: int) -> list[Question]:
    """Every ``shards``-th question by qid, so that each shard has its part of every benchmark.

    Raises:
        UserError: the shard number is not in ``[0, shards)``.
    """
    if not 0 <= shard < shards:
        raise UserError(f"--shard {shard}: with --shards {shards} it is a number from 0 to {shards - 1}")
    return sorted(questions, key=lambda question: question.qid)[shard::shards]


def write(directory: Path, batches: Sequence[Batch]) -> None:
    """Write predictions.parquet and trace.parquet, also when there are no rows."""
    predictions = [row for batch in batches for row in batch.predictions]
    trace = [row for batch in batches for row in batch.trace]
    pl.DataFrame(predictions, schema=PREDICTION_SCHEMA).write_parquet(directory / "predictions.parquet")
    pl.DataFrame(trace, schema=TRACE_SCHEMA).write_parquet(directory / "trace.parquet")


def summary(batches: Sequence[Batch]) -> dict[str, Any]:
    """The figures of a run: counts, the rates that show a method at work, and seconds.

    Rates are None where there was nothing to count. ``parse_failure_rate`` is over the follow-ups
    asked for (verdicts or reasoning sentences), ``repeat_rate`` over those that gave a query,
    ``sufficient_rate`` over verdicts, ``descend_rate`` over items retrieved, ``unmarked_rate``
    and ``cut_rate`` (answers whose prompt did not hold all evidence) over questions,
    ``route_fallback_rate`` over routed queries.
    """
    predictions = [row for batch in batches for row in batch.predictions]
    trace = [row for batch in batches for row in batch.trace]
    followed = [row for row in trace if row["parsed"] is not None]
    verdicts = [row for row in followed if row["sufficient"] is not None]
    routed = [row["route"] for row in trace if row["route"]]
    counts: Counter[str] = Counter()
    for batch in batches:
        counts.update(batch.counts)
    return {
        "questions": len(predictions),
        "mean_rounds": _share([row["rounds"] for row in predictions]),
        "rounds": _tally(row["rounds"] for row in predictions),
        "stops": _tally(row["stop"] for row in trace if row["stop"]),
        "routes": _tally(routed),
        "route_fallbacks": counts["route_fallbacks"],
        "route_fallback_rate": counts["route_fallbacks"] / len(routed) if routed else None,
        "follow_ups": len(followed),
        "parse_failure_rate": _share([not row["parsed"] for row in followed]),
        "sufficient_rate": _share([row["sufficient"] for row in verdicts]),
        "repeat_rate": _share([row["repeated"] for row in followed if row["next_query"] and row["parsed"]]),
        "items": sum(row["items"] for row in trace),
        "descend_rate": _share([row["descended"] for row in trace], sum(row["items"] for row in trace)),
        "searches_without_hits": counts["searches_without_hits"],
        "questions_without_evidence": sum(not row["kept"] for row in predictions),
        "prompts_cut": counts["prompts_cut"],
        "regions_dropped": sum(row["dropped"] for row in predictions),
        "cut_rate": _share([row["dropped"] > 0 for row in predictions]),
        "unmarked_rate": _share([not row["marked"] for row in predictions]),
        "empty_answers": sum(not row["answer"] for row in predictions),
        "mean_evidence_tokens": _share([row["evidence_tokens"] for row in predictions]),
        "mean_held_tokens": _share([row["held_tokens"] for row in predictions]),
        **_seconds(batches),
    }


def _seconds(batches: Sequence[Batch]) -> dict[str, Any]:
    """Wall seconds by stage, and by round and stage; forward passes apart."""
    total: defaultdict[str, float] = defaultdict(float)
    stages: defaultdict[str, float] = defaultdict(float)
    for batch in batches:
        for name, seconds in batch.seconds.items():
            total[name] += seconds
            stages[name.rpartition("/")[2]] += seconds
    forward = total.pop("forward", 0.0)
    stages.pop("forward", None)
    return {
        "seconds": {stage: round(seconds, 3) for stage, seconds in sorted(stages.items())},
        "seconds_by_round": {name: round(seconds, 3) for name, seconds in sorted(total.items())},
        "forward_seconds": round(forward, 3),
    }


def _tally(values: Iterable[object]) -> dict[str, int]:
    return {value: count for value, count in sorted(Counter(map(str, values)).items())}


def _share(values: Sequence[float], of: int | None = None) -> float | None:
    """The mean, or the sum over ``of``; None where there is nothing to divide by."""
    divisor = len(values) if of is None else of
    return sum(values) / divisor if divisor else None
