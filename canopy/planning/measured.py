"""Figures of a finished run, from the manifests of its stages.

Tokens a second of the reader are not among them: a manifest has the seconds of reading and writing together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from canopy.artefacts import MANIFEST, read_manifest
from canopy.errors import UserError
from canopy.planning.figures import MeasuredStage

_MEMORY_OF = frozenset(get_args(MeasuredStage))


def read_measured(results: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Throughputs, and sizes (mean rounds of each method), as a user's files would state them.

    A figure that the run does not give (a stage that did not run, or took no time) is left out.

    Args:
        results: results of one configuration, like ``results/mini``.

    Raises:
        UserError: there is no finished stage, or a manifest is damaged.
    """
    manifests = [read_manifest(path.parent) for path in sorted(results.rglob(MANIFEST))]
    if not manifests:
        raise UserError(f"--measured {results}: no stage has finished there; give a folder like results/mini")
    source = f"measured ({results})"
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for manifest in manifests:
        stages.setdefault(str(manifest.get("stage")), []).append(manifest)
    rates = {
        key: {"value": amount / seconds, "source": source}
        for key, amount, seconds in _rates(stages)
        if amount > 0 and seconds > 0
    }
    converted = sum(_number(m, "wall_seconds") for m in stages.get("reader-model", ()))
    if converted:
        rates["convert_s"] = {"value": converted, "source": source}
    memory = {}
    for stage, group in stages.items():
        peak = max(_number(m, "peak_rss_mb") for m in group)
        rule = stage.replace("-", "_")
        if rule in _MEMORY_OF and peak:
            memory[rule] = {"value": peak, "source": source}
    return rates | {"memory_mb": memory}, {"mean_rounds": _mean_rounds(stages.get("run", ()), source)}


def _rates(stages: Mapping[str, list[Mapping[str, Any]]]) -> Iterator[tuple[str, float, float]]:
    """Key, amount and seconds of each rate."""
    for key, stage, fact in (
        ("embed_items_s", "embed", "items"),
        ("corpus_items_s", "corpus", "items"),
        ("ocr_images_s", "video", "ocr_calls"),
        ("preferences_questions_s", "preferences", "questions"),
        ("train_questions_s", "encoder", "train_questions"),
        ("metrics_questions_s", "metrics", "questions"),
    ):
        group = stages.get(stage, ())
        epochs = [m["settings"].get("epochs", 1) if stage == "encoder" else 1 for m in group]
        amount = sum(_total(m["facts"].get(fact)) * n for m, n in zip(group, epochs, strict=True))
        yield key, amount, sum(_number(m, "wall_seconds") for m in group)
    for key, part in (("index_vectors_s", "add"), ("merge_vectors_s", "merge")):
        timed = [m["facts"] for m in stages.get("index", ()) if part in m["facts"].get("stages", {})]
        seconds = sum(_total(facts["stages"][part].get("seconds")) for facts in timed)
        yield key, sum(_total(facts.get("ntotal")) for facts in timed), seconds
    parsed = stages.get("parse", ())
    yield "parse_mb_s", sum(_input_mb(m) for m in parsed), sum(_number(m, "wall_seconds") for m in parsed)
    runs = [m["facts"] for m in stages.get("run", ())]
    refined = [facts for facts in runs if _seconds(facts, "refine") and facts.get("descend_rate")]
    yield "refine_items_s", sum(_total(f.get("items")) for f in refined), sum(_seconds(f, "refine") for f in refined)
    searches = sum(_total(f.get("mean_rounds")) * _total(f.get("questions")) for f in runs)
    yield "search_queries_s", searches, sum(_seconds(f, "retrieve") for f in runs)


def _mean_rounds(runs: list[Mapping[str, Any]] | tuple[()], source: str) -> dict[str, Any]:
    """Rounds a question of each method, over its shards."""
    rounds: dict[str, float] = {}
    questions: dict[str, float] = {}
    for manifest in runs:
        name, facts = str(manifest["settings"].get("name")), manifest["facts"]
        asked = _total(facts.get("questions"))
        questions[name] = questions.get(name, 0.0) + asked
        rounds[name] = rounds.get(name, 0.0) + asked * _total(facts.get("mean_rounds"))
    return {n: {"value": rounds[n] / asked, "source": source} for n, asked in questions.items() if asked}


def _input_mb(manifest: Mapping[str, Any]) -> float:
    """Megabytes of the raw files that are still where they were read; text only."""
    files = [Path(name) for name in manifest.get("inputs", {})]
    return sum(f.stat().st_size for f in files if f.is_file()) / 1e6


def _seconds(facts: Mapping[str, Any], kind: str) -> float:
    return _total(facts.get("seconds", {}).get(kind))


def _number(manifest: Mapping[str, Any], key: str) -> float:
    return _total(manifest.get(key))


def _total(value: Any) -> float:
    """A number, or the sum of all numbers in nested mappings; 0 for anything else."""
    if isinstance(value, Mapping):
        return sum(_total(inner) for inner in value.values())
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
