"""Stage `corpus`: the benchmarks' items and questions as one corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from canopy import artefacts
from canopy.contracts import ITEM_SCHEMA, QUESTION_SCHEMA, Gold, Question, frame_of, read_questions
from canopy.corpora.counts import TEXT_LIKE, raw_counts
from canopy.corpora.duplicates import find_joins, relinked, without_joined
from canopy.errors import UserError
from canopy.settings.corpora import CorpusSettings


def run(parsed: Sequence[Path], video: Path | None, settings: CorpusSettings, out: Path) -> dict[str, Any]:
    """Merge parsed benchmarks: texts and tables as parsed, images and videos as the video stage completed them.

    Items that say the same are joined into one, whichever benchmarks they come from (:mod:`canopy.corpora.duplicates`).
    Writes `items.parquet` (sorted by item id) and `questions.parquet` (by question id) to the artefact `out`. Gold
    that names an item or a unit that the corpus lacks is dropped and counted in the question's `gold_missing`.

    Args:
        parsed: artefacts of stage `parse`, one or more a benchmark.
        video: artefact of stage `video`; not needed where no benchmark has images or videos.
        settings: which benchmarks are wanted.
        out: the artefact to make.

    Returns:
        The facts: items by benchmark and modality, those joined with another, questions by benchmark and split, those
        left out for want of evidence (here or before a sample was drawn), gold total and missing by benchmark, and
        what the raw files held (:func:`canopy.corpora.counts.raw_counts`).

    Raises:
        UserError: an item id or question id occurs twice, a wanted benchmark is absent, or an input is damaged.
    """
    inputs = [*parsed, *([video] if video else [])]
    with artefacts.build(out, "corpus", settings.model_dump(mode="json"), inputs) as artefact:
        wanted = pl.col("benchmark").is_in(settings.benchmarks)
        parts = [_scan(p / "items.parquet").filter(pl.col("modality").is_in(TEXT_LIKE) & wanted) for p in parsed]
        if video is not None:
            media = ~pl.col("modality").is_in(TEXT_LIKE)
            parts.append(_scan(video / "items.parquet").filter(media & wanted))
        items = pl.concat(parts)
        _no_repeats(items.select("item_id", "source"), "item_id")
        joins = find_joins(items)
        items = without_joined(items, joins)
        counts = items.group_by("benchmark", "modality").len().collect()
        items.sort("item_id").sink_parquet(artefact.path / "items.parquet", row_group_size=4096, compression="zstd")
        questions = [q for p in parsed for q in read_questions(p / "questions.parquet")]
        questions = [relinked(q, joins) for q in questions if q.benchmark in settings.benchmarks]
        sizes = _unit_counts(items, {g.item_id for q in questions for g in q.gold})
        questions = [_located(q, sizes) for q in questions]
        asked = Counter(q.benchmark for q in questions)
        if settings.questions == "with_gold":
            questions = [q for q in questions if q.gold and not q.gold_missing]
        questions.sort(key=lambda q: q.qid)
        frame = frame_of(questions, QUESTION_SCHEMA)
        _no_repeats(frame.select("qid", pl.col("split").alias("source")).lazy(), "qid")
        frame.write_parquet(artefact.path / "questions.parquet", compression="zstd")
        artefact.facts.update(_facts(counts, joins, questions, settings))
        kept = Counter(q.benchmark for q in questions)
        raw = raw_counts(parsed, video, settings.benchmarks)
        artefact.facts["raw"] = raw
        artefact.facts["questions_left_out"] = {b: raw[b]["left_out"] + asked[b] - kept[b] for b in raw}
        if settings.questions == "all":  # otherwise a benchmark may have none left, and none to begin with
            _nothing_absent(asked, settings)
    return artefact.facts


def _scan(path: Path) -> pl.LazyFrame:
    if not path.is_file():
        raise UserError(f"{path} does not exist: run the stage that makes it first")
    try:
        frame = pl.scan_parquet(path)
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UserError(f"{path} is not a readable Parquet file ({error}): remove it and rerun the stage") from error
    if dict(schema) != dict(pl.Schema(ITEM_SCHEMA)):
        raise UserError(f"{path} has columns {schema.names()}, expected {list(ITEM_SCHEMA)}: rerun the stage")
    return frame


def _no_repeats(frame: pl.LazyFrame, key: str) -> None:
    repeats = (
        frame.group_by(key)
        .agg(pl.len().alias("times"), pl.col("source"))
        .filter(pl.col("times") > 1)
        .sort(key)
        .head(3)
        .collect()
    )
    if repeats.height:
        shown = "; ".join(f"{r[key]} in {', '.join(r['source'][:2])}" for r in repeats.iter_rows(named=True))
        raise UserError(
            f"{key} occurs more than once: {shown}; was a benchmark given twice? parse its files together instead"
        )


def _unit_counts(items: pl.LazyFrame, wanted: set[str]) -> dict[str, int]:
    """Number of units of the wanted items that there are."""
    ids = pl.LazyFrame({"item_id": sorted(wanted)}, schema={"item_id": pl.String})
    found = items.join(ids, on="item_id", how="semi").select("item_id", pl.col("units").list.len())
    return dict(found.collect().iter_rows())


def _located(question: Question, sizes: dict[str, int]) -> Question:
    """The question with only the gold that the corpus holds."""
    kept, missing = [], 0
    for gold in question.gold:
        units = tuple(u for u in gold.units if u < sizes.get(gold.item_id, 0))
        missing += not units
        if units:
            kept.append(Gold(gold.item_id, units))
    return replace(question, gold=tuple(kept), gold_missing=question.gold_missing + missing)


def _facts(
    counts: pl.DataFrame, joins: Iterable[str], questions: Iterable[Question], settings: CorpusSettings
) -> dict[str, Any]:
    items: dict[str, dict[str, int]] = {b: {} for b in settings.benchmarks}
    for benchmark, modality, count in counts.sort("benchmark", "modality").iter_rows():
        items[benchmark][modality] = count
    joined = Counter(item_id.partition(":")[0] for item_id in joins)
    asked: Counter[tuple[str, str]] = Counter()
    total: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    without: Counter[str] = Counter()
    for question in questions:
        asked[question.benchmark, question.split] += 1
        total[question.benchmark] += len(question.gold) + question.gold_missing
        missing[question.benchmark] += question.gold_missing
        without[question.benchmark] += not question.gold
    return {
        "items": items,
        "joined": {b: joined[b] for b in settings.benchmarks},
        "questions": {b: {s: n for (name, s), n in sorted(asked.items()) if name == b} for b in settings.benchmarks},
        "gold_total": {b: total[b] for b in settings.benchmarks},
        "gold_missing": {b: missing[b] for b in settings.benchmarks},
        "questions_without_gold": {b: without[b] for b in settings.benchmarks},
    }


def _nothing_absent(asked: Counter[str], settings: CorpusSettings) -> None:
    absent = [b for b in settings.benchmarks if not asked[b]]
    if absent:
        raise UserError(
            f"no questions of {', '.join(absent)} in the parsed directories ({json.dumps(asked)}): "
            "parse them, or leave them out of `benchmarks`"
        )
