"""The tokens table: what each method's reader is given, and what compression saves."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from canopy.metrics.bootstrap import Interval
from canopy.settings.tables import TableSettings
from canopy.tables.layout import BENCHMARK_LABELS, Column, Table, Value, caption, intervals_note
from canopy.tables.scores import AVERAGE, Scores, change, load_scores, scopes

_REFERENCES = ("no_compression", "vanilla_rag")
_MEANS = ("held_tokens", "evidence_tokens", "cut", "total_evidence_tokens", "prompt_tokens", "rounds")
_COMPARED = {"held_tokens": "held", "evidence_tokens": "answer prompt"}


def tokens_table(settings: TableSettings, metrics: Iterable[Path]) -> Table:
    """A row a method and benchmark: evidence tokens a question, rounds, and reduction against two others."""
    scores = load_scores(metrics, settings.methods)
    references = {name: scores[name] for name in _REFERENCES if name in scores}
    rows = [row for name, label in settings.methods.items() for row in _rows(scores[name], label, references, settings)]
    columns = [
        Column("method", "Method"),
        Column("benchmark", "Benchmark"),
        Column("held_tokens", "held", "mean", "Evidence tokens"),
        Column("evidence_tokens", "answer prompt", "mean", "Evidence tokens"),
        Column("cut", "Prompts cut (%)", "percent"),
        Column("total_evidence_tokens", "all prompts", "mean", "Evidence tokens"),
        Column("prompt_tokens", "Prompt tokens", "mean"),
        Column("rounds", "Rounds", "ratio"),
    ]
    columns += [
        Column(f"reduction_{column}_{name}", f"{label}, against {settings.methods[name]}", "signed", "Reduction (%)")
        for name in references
        for column, label in _COMPARED.items()
    ]
    notes = [
        "Means a question, counted by the reader's tokenizer. Evidence tokens: of all that a question holds when it is "
        "answered, of the part that fits its answer prompt (cut: the share of questions where that is not all), and "
        "summed over all prompts of reader and critic; prompt tokens include instructions and question.",
    ]
    if references:
        notes.append("Reduction: 1 minus the ratio of the evidence tokens, positive where fewer.")
        notes.append(intervals_note(settings, "question within benchmark"))
    first = next(iter(scores.values()))
    what = "Reader-input tokens."
    return Table("tokens", caption(what, settings, first.questions, *notes), tuple(columns), rows)


def _rows(
    scores: Scores, label: str, references: dict[str, Scores], settings: TableSettings
) -> Iterable[dict[str, Value]]:
    for benchmark, benchmarks in scopes(scores):
        row: dict[str, Value] = {
            "method": label,
            "benchmark": "Average" if benchmark == AVERAGE else BENCHMARK_LABELS[benchmark],
            **{name: scores.mean(name, benchmark) for name in _MEANS},
        }
        for name, reference in references.items():
            if reference is not scores:
                for column in _COMPARED:
                    ratio = change(scores, reference, column, benchmarks, settings)
                    row[f"reduction_{column}_{name}"] = Interval(-ratio.value, -ratio.high, -ratio.low)
        yield row
