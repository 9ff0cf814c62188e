"""A table before it is written: columns, rows of raw values, and a caption."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from canopy.metrics.bootstrap import Interval
from canopy.settings.tables import TableSettings
from canopy.tables import sentences
from canopy.tables.sentences import corpus_sentences, listed, model_sentences

Kind = Literal["text", "count", "mean", "percent", "signed", "ratio"]
"""How values are shown: as they are; whole numbers; one decimal; a fraction as percent with one decimal;
a difference of fractions as signed percent; two decimals."""

Value = str | int | float | Interval | None

BENCHMARK_LABELS = sentences.BENCHMARK_LABELS


@dataclass(frozen=True, slots=True)
class Column:
    """A column: ``key`` in the CSV, ``label`` (under the heading ``group``) elsewhere."""

    key: str
    label: str
    kind: Kind = "text"
    group: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a row lacks the keys of cells without a value."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Value]]


def caption(
    what: str, settings: TableSettings, questions: Mapping[str, int], *notes: str, averages: bool = True
) -> str:
    """One paragraph: what is shown, on which configuration, models and questions, and how far it can be trusted.

    Args:
        what: the first sentence.
        settings: those of the table; only what differs from a whole, ordinary corpus is said of it.
        questions: benchmark -> questions that the figures are over.
        notes: sentences on the figures.
        averages: the table has averages over benchmarks.
    """
    constructed = (
        "The corpus is constructed, an invented world made from a seed: these numbers are not the paper's."
        if settings.constructed
        else ""
    )
    parts = (
        what,
        f"Configuration {settings.config}, seed {settings.seed}, k = {settings.k} items a round.",
        *model_sentences(settings),
        *_question_sentences(settings, {b: n for b, n in questions.items() if n}, averages),
        *corpus_sentences(settings),
        *notes,
        constructed,
    )
    return " ".join(part for part in parts if part)


def intervals_note(settings: TableSettings, unit: str = "question") -> str:
    """The sentence on what the brackets hold."""
    return (
        f"In brackets: 95% interval, paired bootstrap, {settings.bootstrap:,} resamples, by {unit}; "
        "none where a benchmark has fewer than 2 questions."
    )


def _question_sentences(settings: TableSettings, questions: Mapping[str, int], averages: bool) -> Iterator[str]:
    """How many questions, of which benchmarks, and of which there are none."""
    counts = ", ".join(f"{BENCHMARK_LABELS[b]} {n:,}" for b, n in questions.items())
    if counts:
        yield f"Test questions: {counts} ({sum(questions.values()):,} in all)."
    if without := [b for b in settings.benchmarks if b not in questions]:
        yield f"There is no such question of {listed(without)}."
    if settings.left_out:
        yield f"Left out, without raw files: {listed(settings.left_out)}."
    if averages and questions:
        given = len(settings.benchmarks) + len(settings.left_out)
        of = f" of {given}" if given > len(questions) else ""
        over = f"{len(questions)}{of} benchmark{'s' * (max(given, len(questions)) != 1)}"
        yield f"Averages are over {over}, a figure's over those that have it."


def show(value: Value, kind: Kind) -> str:
    """The cell as people read it; an empty string when there is no value."""
    if isinstance(value, Interval):
        if math.isnan(value.value):
            return ""
        shown = show(value.value, kind)
        return shown if math.isnan(value.low) else f"{shown} [{show(value.low, kind)}, {show(value.high, kind)}]"
    if value is None or isinstance(value, str):
        return value or ""
    if math.isnan(value):
        return ""
    return _number(float(value), kind)


def _number(value: float, kind: Kind) -> str:
    if kind == "count":
        return f"{value:,.0f}"
    if kind == "ratio":
        return f"{value:.2f}"
    if kind == "mean":
        return f"{value:,.1f}"
    # Adding 0.0 turns the -0.0 of a rounded small negative into 0.0.
    shown = round(100 * value, 1) + 0.0
    return f"{shown:+.1f}" if kind == "signed" and shown else f"{shown:.1f}"
