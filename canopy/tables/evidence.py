"""The evidence table: how much of the gold each method retrieves, keeps and shows, and at how many tokens."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from canopy.metrics.evidence import FIGURES
from canopy.settings.tables import TableSettings
from canopy.tables.layout import BENCHMARK_LABELS, Column, Table, Value, caption
from canopy.tables.scores import AVERAGE, Scores, load_scores, scopes


def evidence_table(settings: TableSettings, metrics: Iterable[Path]) -> Table:
    """A row a method and benchmark: recall of gold items, gold units kept and shown, evidence tokens."""
    scores = load_scores(metrics, settings.methods)
    rows = [row for name, label in settings.methods.items() for row in _rows(scores[name], label)]
    columns = (
        Column("method", "Method"),
        Column("benchmark", "Benchmark"),
        Column("with_gold", "With gold", "count", "Questions"),
        Column("recall_first", f"round 1, k = {settings.k}", "percent", "Recall of gold items"),
        Column("recall", "all rounds", "percent", "Recall of gold items"),
        Column("units_kept", "kept of retrieved items", "percent", "Gold units"),
        Column("units_shown", "shown to the reader", "percent", "Gold units"),
        Column("held_tokens", "held", "mean", "Evidence tokens"),
        Column("evidence_tokens", "shown", "mean", "Evidence tokens"),
        Column("cut", "Prompts cut (%)", "percent"),
    )
    notes = (
        "Means over the questions whose gold evidence the corpus holds, evidence tokens over all. Gold units are "
        "sentences, rows, images or segments; kept: in a region that refinement kept, of the gold items that were "
        "retrieved (over the questions with one); shown: in the prompt that was answered, of all gold units. Prompts "
        "cut: the share of questions whose evidence did not all fit the reader's context.",
    )
    first = next(iter(scores.values()))
    text = caption("Gold evidence found and kept.", settings, first.questions, *notes)
    return Table("evidence", text, columns, rows)


def _rows(scores: Scores, label: str) -> Iterable[dict[str, Value]]:
    for benchmark, benchmarks in scopes(scores):
        yield {
            "method": label,
            "benchmark": "Average" if benchmark == AVERAGE else BENCHMARK_LABELS[benchmark],
            "with_gold": sum(scores.known("recall", b) for b in benchmarks),
            **{name: scores.mean(name, benchmark) for name in FIGURES},
            **{name: scores.mean(name, benchmark) for name in ("held_tokens", "evidence_tokens", "cut")},
        }
