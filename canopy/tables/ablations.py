"""What each switch of CANOPY does: the ablations together, and each on its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from canopy.errors import UserError
from canopy.metrics.bootstrap import Interval
from canopy.settings.tables import TableSettings
from canopy.tables.layout import BENCHMARK_LABELS, Column, Table, Value, caption, intervals_note
from canopy.tables.scores import AVERAGE, Scores, change, difference, headline, load_scores, scopes

_LABELS = BENCHMARK_LABELS | {AVERAGE: "Average"}
_SCORE_NAMES = {"em": "EM", "accuracy": "Acc."}
_NOTE = "Tokens are the reader's evidence tokens a question, in the prompt it answers from."


def ablations_table(settings: TableSettings, metrics: Iterable[Path]) -> Table:
    """A row an ablation and benchmark: differences to the method it ablates, in score and in tokens."""
    names = _checked(settings, settings.ablations)
    scores = load_scores(metrics, names)
    rows: list[dict[str, Value]] = []
    for name, reference in settings.ablations.items():
        for benchmark, benchmarks in scopes(scores[name]):
            compared = _compared(scores[name], scores[reference], benchmark, benchmarks, settings)
            labels = {
                "ablation": settings.methods.get(name, name),
                "against": settings.methods.get(reference, reference),
            }
            rows.append({**labels, **compared})
    columns = (
        Column("ablation", "Ablation"),
        Column("against", "Against"),
        Column("benchmark", "Benchmark"),
        Column("score", "Score"),
        Column("difference", "Score difference", "signed"),
        Column("f1_difference", "F1 difference", "signed"),
        Column("tokens_change", "Tokens difference (%)", "signed"),
    )
    what = "Ablation minus the method it differs from by one switch, in percentage points."
    first = next(iter(scores.values()))
    text = caption(what, settings, first.questions, _NOTE, intervals_note(settings, "question within benchmark"))
    return Table("ablations", text, columns, rows)


def ablation_table(name: str, settings: TableSettings, metrics: Iterable[Path]) -> Table:
    """One ablation beside the method it ablates: scores, difference, evidence tokens and their ratio."""
    if name not in settings.ablations:
        known = ", ".join(settings.ablations) or "none"
        raise UserError(f"{name} is not an ablation of configuration {settings.config}; there are: {known}")
    reference = settings.ablations[name]
    scores = load_scores(metrics, _checked(settings, {name: reference}))
    full, ablated = scores[reference], scores[name]
    rows = [
        _compared(ablated, full, benchmark, benchmarks, settings)
        | {
            "reference_score": full.mean("headline", benchmark),
            "ablation_score": ablated.mean("headline", benchmark),
            "reference_tokens": full.mean("evidence_tokens", benchmark),
            "ablation_tokens": ablated.mean("evidence_tokens", benchmark),
        }
        for benchmark, benchmarks in scopes(full)
    ]
    here, there = settings.methods.get(reference, reference), settings.methods.get(name, name)
    columns = (
        Column("benchmark", "Benchmark"),
        Column("score", "Score"),
        Column("reference_score", here, "percent", "Score"),
        Column("ablation_score", there, "percent", "Score"),
        Column("difference", "difference", "signed", "Score"),
        Column("f1_difference", "difference", "signed", "F1"),
        Column("reference_tokens", here, "mean", "Tokens"),
        Column("ablation_tokens", there, "mean", "Tokens"),
        Column("tokens_ratio", "ratio", "ratio", "Tokens"),
    )
    what = f"{there} against {here}: scores in percent, differences in points."
    text = caption(what, settings, full.questions, _NOTE, intervals_note(settings, "question within benchmark"))
    return Table(f"ablation_{name}", text, columns, rows)


def _checked(settings: TableSettings, ablations: dict[str, str]) -> list[str]:
    if not ablations:
        raise UserError(f"configuration {settings.config} has no ablations: name some under `ablations`")
    return list(dict.fromkeys([*ablations.values(), *ablations]))


def _compared(
    ablated: Scores, full: Scores, benchmark: str, benchmarks: Sequence[str], settings: TableSettings
) -> dict[str, Value]:
    tokens = change(ablated, full, "evidence_tokens", benchmarks, settings)
    with_f1 = [b for b in benchmarks if headline(b) == "em"]
    return {
        "benchmark": _LABELS[benchmark],
        "score": "mean" if benchmark == AVERAGE else _SCORE_NAMES[headline(benchmark)],
        "difference": difference(ablated, full, "headline", benchmarks, settings),
        "f1_difference": difference(ablated, full, "f1", with_f1, settings) if with_f1 else None,
        "tokens_change": tokens,
        "tokens_ratio": Interval(tokens.value + 1, tokens.low + 1, tokens.high + 1),
    }
