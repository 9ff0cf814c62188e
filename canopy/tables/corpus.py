"""The corpus table: items and questions of each benchmark, what was left out, and gold that could not be located."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from canopy.artefacts import read_manifest
from canopy.contracts import BENCHMARKS, MODALITIES
from canopy.errors import UserError
from canopy.settings.tables import TableSettings
from canopy.tables.layout import BENCHMARK_LABELS, Column, Table, Value, caption

# As published, in thousands or better: 32.4M passages, 429K tables, 57K images, 1.5K video segments.
_PAPER = {"text": 32_400_000, "table": 429_000, "image": 57_000, "video": 1_500}
_SPLITS = ("train", "dev", "test")
_MODALITY_LABELS = {"text": "Passages", "table": "Tables", "image": "Images", "video": "Video clips"}
_RAW_LABELS = {
    "raw_items": "items",
    "raw_questions": "questions",
    "quarantined": "bad records",
    "media_missing": "missing media",
    "media_unreadable": "unreadable media",
}
_SUMMED = (
    *(*MODALITIES, "items", "joined", *_SPLITS, "without_gold", "left_out", "gold_total", "gold_missing"),
    *_RAW_LABELS,
)


def corpus_table(settings: TableSettings, directory: Path) -> Table:
    """A row a benchmark with its items and questions and what was left out, their total, and the paper's items.

    Raises:
        UserError: the corpus is missing or was made by another version.
    """
    facts = read_manifest(directory)["facts"]
    try:
        rows = [_row(b, facts) for b in BENCHMARKS if b in facts["items"]]
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{directory} was made by another version (no counts: {error}): rerun `canopy corpus`"
        ) from error
    rows = [*rows, _total(rows), {"benchmark": "Paper", **_PAPER, "items": sum(_PAPER.values())}]
    columns = [Column("benchmark", "Benchmark")]
    columns += [Column(m, _MODALITY_LABELS[m], "count", "Items") for m in MODALITIES]
    columns.append(Column("items", "all", "count", "Items"))
    columns.append(Column("joined", "joined", "count", "Items"))
    columns += [Column(split, split, "count", "Questions") for split in _SPLITS]
    columns.append(Column("without_gold", "without gold", "count", "Questions"))
    columns.append(Column("left_out", "left out", "count", "Questions"))
    columns += [
        Column("gold_total", "references", "count", "Gold"),
        Column("gold_missing", "not located", "count", "Gold"),
        Column("miss_rate", "miss rate (%)", "percent", "Gold"),
    ]
    columns += [Column(key, label, "count", "Raw files") for key, label in _RAW_LABELS.items()]
    test = {b: facts["questions"][b].get("test", 0) for b in BENCHMARKS if b in facts["items"]}
    drawn = "; other questions of the raw files were not drawn" if settings.sample else ""
    notes = (
        "Joined: items left out because another one, of any benchmark, says the same; their gold is that item's. "
        f"Questions left out: those whose gold evidence is not all there, where such are not wanted{drawn}. "
        "Gold: references of the questions that stay, and those that could not be located in the items. "
        "Raw files: what was read, before any sample was drawn; bad records are in quarantine; missing media have no "
        "file, unreadable media cannot be decoded. "
        "Last row: the items of the paper's corpus, rounded as published.",
    )
    text = caption("Items and questions of the unified corpus.", settings, test, *notes, averages=False)
    return Table("corpus", text, tuple(columns), rows)


def _row(benchmark: str, facts: Mapping[str, Any]) -> dict[str, Value]:
    items: dict[str, int] = {m: int(facts["items"][benchmark].get(m, 0)) for m in MODALITIES}
    references, missing = int(facts["gold_total"][benchmark]), int(facts["gold_missing"][benchmark])
    raw = facts["raw"][benchmark]
    return {
        "benchmark": BENCHMARK_LABELS[benchmark],
        **items,
        "items": sum(items.values()),
        "joined": int(facts["joined"][benchmark]),
        **{split: int(facts["questions"][benchmark].get(split, 0)) for split in _SPLITS},
        "without_gold": int(facts["questions_without_gold"][benchmark]),
        "left_out": int(facts["questions_left_out"][benchmark]),
        "gold_total": references,
        "gold_missing": missing,
        "miss_rate": _rate(missing, references),
        **{key: int(raw[key.removeprefix("raw_")]) for key in _RAW_LABELS},
    }


def _total(rows: list[dict[str, Value]]) -> dict[str, Value]:
    total: dict[str, Value] = {"benchmark": "All"}
    for key in _SUMMED:
        values = [value for row in rows if isinstance(value := row.get(key), int)]
        if values:
            total[key] = sum(values)
    references, missing = total.get("gold_total"), total.get("gold_missing")
    if isinstance(references, int) and isinstance(missing, int):
        total["miss_rate"] = _rate(missing, references)
    return total


def _rate(missing: int, references: int) -> float | None:
    return missing / references if references else None
