"""The main table: methods by benchmarks, in the paper's layout."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from canopy.settings.tables import TableSettings
from canopy.tables.layout import BENCHMARK_LABELS, Column, Table, Value, caption, intervals_note
from canopy.tables.scores import AVERAGE, Scores, difference, load_scores

REFERENCE = "canopy"
"""The method that the others' averages are compared with."""


def main_table(settings: TableSettings, metrics: Iterable[Path]) -> Table:
    """EM and F1 a benchmark, accuracy for LVBench, their average, and its difference to CANOPY."""
    methods = {name: label for name, label in settings.methods.items() if name not in settings.ablations}
    scores = load_scores(metrics, methods)
    first = next(iter(scores.values()))
    compared = REFERENCE in scores and len(scores) > 1
    rows = [
        _row(scores[name], label, scores[REFERENCE] if compared else None, settings) for name, label in methods.items()
    ]
    columns = [Column("method", "Method")]
    for benchmark in first.values:
        columns += [
            Column(f"{benchmark}_{name}", label, "percent", BENCHMARK_LABELS[benchmark])
            for name, label in _figures(benchmark)
        ]
    columns.append(Column(AVERAGE, "Avg.", "percent"))
    notes = ["All in percent. Avg. is the mean of the EMs and the accuracy; unanswered questions count as wrong."]
    if compared:
        columns.append(Column("average_difference", f"Avg. minus {methods[REFERENCE]}", "signed"))
        notes.append(intervals_note(settings, "question within benchmark"))
    what = "Answers by the benchmarks' official scores."
    return Table("main", caption(what, settings, first.questions, *notes), tuple(columns), rows)


def _figures(benchmark: str) -> list[tuple[str, str]]:
    return [("accuracy", "Acc.")] if benchmark == "lvbench" else [("em", "EM"), ("f1", "F1")]


def _row(scores: Scores, label: str, reference: Scores | None, settings: TableSettings) -> dict[str, Value]:
    row: dict[str, Value] = {"method": label, AVERAGE: scores.mean("headline", AVERAGE)}
    for benchmark in scores.values:
        for name, _ in _figures(benchmark):
            row[f"{benchmark}_{name}"] = scores.mean(name, benchmark)
    if reference is not None and reference is not scores:
        row["average_difference"] = difference(scores, reference, "headline", list(scores.values), settings)
    return row
