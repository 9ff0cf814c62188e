"""Per-question scores of several methods on the same questions, out of metrics directories."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from canopy.contracts import BENCHMARKS, read_frame
from canopy.errors import UserError
from canopy.metrics.bootstrap import Floats, Interval, mean_difference, relative_difference
from canopy.metrics.records import SCORES_SCHEMA
from canopy.settings.tables import TableSettings

AVERAGE = "average"
"""The row or column that averages over the benchmarks."""


@dataclass(frozen=True, slots=True)
class Scores:
    """One method's scores.

    Attributes:
        method: name of the method.
        values: benchmark -> column of ``scores.parquet`` -> float64 [questions], ordered by qid.
    """

    method: str
    values: Mapping[str, Mapping[str, Floats]]

    def mean(self, column: str, benchmark: str) -> float:
        """Mean over a benchmark's questions; over the benchmarks' means for :data:`AVERAGE`.

        Questions, and benchmarks, without a value are left out; NaN when none has one.
        """
        if benchmark == AVERAGE:
            values = np.array([self.mean(column, b) for b in self.values])
        else:
            values = self.column(column, benchmark)
        known = values[~np.isnan(values)]
        return float(known.mean()) if known.size else float("nan")

    def known(self, column: str, benchmark: str) -> int:
        """Questions of a benchmark that have a value."""
        return int(np.count_nonzero(~np.isnan(self.column(column, benchmark))))

    def column(self, column: str, benchmark: str) -> Floats:
        """Values a question; ``headline`` is EM, or the accuracy for LVBench."""
        name = headline(benchmark) if column == "headline" else column
        return self.values[benchmark][name]

    @property
    def questions(self) -> dict[str, int]:
        """Number of questions of each benchmark, in the paper's order."""
        return {b: len(columns["rounds"]) for b, columns in self.values.items()}


def headline(benchmark: str) -> str:
    """The column of ``scores.parquet`` that a benchmark is judged by, and that the average is made of."""
    return "accuracy" if benchmark == "lvbench" else "em"


def load_scores(directories: Iterable[Path], wanted: Iterable[str]) -> dict[str, Scores]:
    """The scores of the wanted methods, in that order.

    Raises:
        UserError: a method's metrics are missing or given twice, or two methods were scored on other questions.
    """
    found: dict[str, Path] = {}
    for directory in directories:
        method = _method(directory)
        if method in found:
            raise UserError(f"{found[method]} and {directory} are both metrics of {method}: give one")
        found[method] = directory
    if missing := [method for method in wanted if method not in found]:
        raise UserError(f"no metrics of {', '.join(missing)} were given: pass their directories by --metrics")
    frames = {method: read_frame(found[method] / "scores.parquet", SCORES_SCHEMA).sort("qid") for method in wanted}
    _check_same_questions(frames)
    return {method: Scores(method, _values(frame)) for method, frame in frames.items()}


def difference(a: Scores, b: Scores, column: str, benchmarks: Sequence[str], settings: TableSettings) -> Interval:
    """Mean of ``a`` minus mean of ``b``, averaged over the benchmarks, with its interval."""
    return mean_difference(_pairs(a, b, column, benchmarks), settings.bootstrap, settings.seed)


def change(a: Scores, b: Scores, column: str, benchmarks: Sequence[str], settings: TableSettings) -> Interval:
    """Mean of ``a`` over mean of ``b``, minus 1, with its interval."""
    return relative_difference(_pairs(a, b, column, benchmarks), settings.bootstrap, settings.seed)


def scopes(scores: Scores) -> list[tuple[str, list[str]]]:
    """Each benchmark on its own, then, when there are several, all under :data:`AVERAGE`."""
    benchmarks = list(scores.values)
    return [*((b, [b]) for b in benchmarks), *([(AVERAGE, benchmarks)] if len(benchmarks) > 1 else [])]


def _pairs(a: Scores, b: Scores, column: str, benchmarks: Sequence[str]) -> list[tuple[Floats, Floats]]:
    return [(a.column(column, benchmark), b.column(column, benchmark)) for benchmark in benchmarks]


def _method(directory: Path) -> str:
    path = directory / "summary.json"
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["method"])
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path} is missing or not a summary of metrics: run `canopy metrics` first") from error


def _check_same_questions(frames: Mapping[str, pl.DataFrame]) -> None:
    (first, frame), *others = frames.items()
    if frame.is_empty():
        raise UserError(f"the metrics of {first} hold no scored question: the test split has no gold answers")
    for method, other in others:
        if not other["qid"].equals(frame["qid"]):
            raise UserError(f"{first} and {method} were not scored on the same questions: rerun both on one corpus")


def _values(frame: pl.DataFrame) -> dict[str, dict[str, Floats]]:
    columns = [name for name, kind in SCORES_SCHEMA.items() if kind != pl.String]
    values: dict[str, dict[str, Floats]] = {}
    for benchmark in BENCHMARKS:
        rows = frame.filter(pl.col("benchmark") == benchmark)
        if not rows.is_empty():
            values[benchmark] = {name: rows[name].cast(pl.Float64).to_numpy() for name in columns}
    return values
