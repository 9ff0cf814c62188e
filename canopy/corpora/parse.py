"""Stage `parse`: one benchmark's native files to items and questions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from canopy import artefacts
from canopy.corpora import hotpotqa, lvbench, mmqa, nq, ottqa
from canopy.corpora.files import Found, Kind, counts_by_kind, find
from canopy.corpora.media import missing_media
from canopy.corpora.sample import take_sample
from canopy.corpora.sink import Sink
from canopy.errors import UserError
from canopy.settings.corpora import ParseSettings

Parser = Callable[[Found, ParseSettings, Sink], None]
PARSERS: dict[str, tuple[Sequence[Kind], Parser]] = {
    "nq": (nq.KINDS, nq.parse),
    "hotpotqa": (hotpotqa.KINDS, hotpotqa.parse),
    "ottqa": (ottqa.KINDS, ottqa.parse),
    "mmqa": (mmqa.KINDS, mmqa.parse),
    "lvbench": (lvbench.KINDS, lvbench.parse),
}

log = logging.getLogger(__name__)


def run(benchmark: str, paths: Sequence[Path], settings: ParseSettings, out: Path) -> dict[str, Any]:
    """Parse native files of one benchmark.

    Writes `items.parquet`, `questions.parquet`, `quarantine.jsonl` and `notices.jsonl` to the artefact `out`. Kinds of
    files that are not there are named in a warning: many a benchmark is complete without some of them.

    Args:
        benchmark: one of :data:`canopy.contracts.BENCHMARKS`.
        paths: files or folders; files are recognised by their official names, compressed or not.
        settings: splits, tolerance for bad records, the time grid of videos.
        out: the artefact to make.

    Returns:
        The summary: records read, items, questions, quarantined records, gold references that could not be located,
        image and video files that were not found, wall seconds; of a sample, its own items and questions, the
        `questions_without_evidence` left out before the draw, and what it was `sampled_from`.

    Raises:
        UserError: unknown benchmark, nothing recognised, or a path that cannot be read.
        StageStopped: more bad records than `max_quarantined` allows.
    """
    if benchmark not in PARSERS:
        raise UserError(f"unknown benchmark {benchmark!r}: choose one of {', '.join(PARSERS)}")
    started = time.monotonic()
    kinds, parser = PARSERS[benchmark]
    found = find(benchmark, paths, kinds)
    counted = counts_by_kind(found, kinds)
    if absent := [shown for shown, count in counted.items() if not count]:
        log.warning("%s: no files %s", benchmark, ", ".join(absent))
    files = sorted(raw.path for raws in found.kinds.values() for raw in raws)
    with artefacts.build(out, "parse", {"benchmark": benchmark, **settings.model_dump(mode="json")}, files) as artefact:
        sink = Sink(artefact.path)
        try:
            for copy, kept in found.copies.items():
                sink.quarantine.notice("file left out, the same file lies beside it", copy, 0, kept.name)
            parser(found, settings, sink)
        finally:
            sink.close()
        sink.quarantine.check(settings.max_quarantined, keep=out.with_name(f"{out.name}.quarantine.jsonl"))
        summary = {
            "records": sink.quarantine.records.total(),
            "items": sink.items,
            "questions": sink.questions,
            "quarantined": sink.quarantine.bad.total(),
            "gold_missing": sink.gold_missing,
            "missing_media": missing_media(sink),
        }
        facts: dict[str, Any] = {**summary, "gold": sink.gold}
        counts = {"modalities": dict(sink.modalities), "splits": dict(sink.splits)}
        if settings.sample is not None:
            facts.update(take_sample(artefact.path, settings.sample, settings.seed, settings.questions == "with_gold"))
            facts["sampled_from"] = {key: summary[key] for key in ("items", "questions")} | counts
            summary = {key: facts[key] for key in (*summary, "questions_without_evidence", "sampled_from")}
        else:
            facts |= counts
        artefact.facts.update(
            facts,
            files_by_kind=counted,
            records_by_file=dict(sink.quarantine.records),
            quarantined_by_file=dict(sink.quarantine.bad),
            notices=dict(sink.quarantine.notices),
            repeated=dict(sink.facts),
        )
    return {**summary, "seconds": round(time.monotonic() - started, 3)}
