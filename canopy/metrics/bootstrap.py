"""Paired bootstrap: percentile intervals of statistics over resampled questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_CHUNK = 2_000_000  # numbers drawn at once: bounds memory at some 50 MB, whatever the number of questions
_LEVEL = 0.95
_FEWEST = 2  # questions a benchmark


@dataclass(frozen=True, slots=True)
class Interval:
    """A statistic of the sample and its two-sided 95% percentile interval; nan where undefined.

    The interval of a sample with a single question in some benchmark is undefined, too: that question would be drawn
    every time, and the interval would leave out how far another one could have moved the statistic.
    """

    value: float
    low: float
    high: float

    def away_from_zero(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def interval(
    strata: Sequence[Floats], statistic: Callable[[Sequence[Floats]], Floats], resamples: int, seed: int
) -> Interval:
    """The interval of a statistic of per-stratum column sums.

    Questions are drawn with replacement within each stratum (benchmark), whole rows at a time, so that
    the systems whose figures are columns of one row stay paired, and everything that belongs to one
    question (a cluster) stays together.

    Args:
        strata: one array a benchmark, float64 [questions, columns], all with the same columns.
        statistic: maps one array of column sums a benchmark, float64 [resamples, columns], to the
            statistic, float64 [resamples].
        resamples: number of resamples; the paper's tables use 10,000.
        seed: the same seed and input give the same interval.
    """
    value = statistic([rows.sum(axis=0, keepdims=True) for rows in strata])
    if min(len(rows) for rows in strata) < _FEWEST:
        return Interval(float(value[0]), float("nan"), float("nan"))
    drawn = statistic([resampled_sums(rows, resamples, [seed, index]) for index, rows in enumerate(strata)])
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return Interval(float(value[0]), float("nan"), float("nan"))
    low, high = np.quantile(defined, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(float(value[0]), float(low), float(high))


def resampled_sums(rows: Floats, resamples: int, seed: Sequence[int]) -> Floats:
    """Column sums of ``resamples`` samples of the rows with replacement: [n, c] -> [resamples, c]."""
    questions, columns = rows.shape
    sums = np.empty((resamples, columns))
    rng = np.random.default_rng(list(seed))
    step = max(1, _CHUNK // max(1, questions))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        drawn = rng.integers(0, questions, size=(stop - start, questions))
        for column in range(columns):
            sums[start:stop, column] = rows[drawn, column].sum(axis=1)
    return sums


def mean_difference(pairs: Sequence[tuple[Floats, Floats]], resamples: int, seed: int) -> Interval:
    """Mean of ``a`` minus mean of ``b`` within each benchmark, averaged over the benchmarks.

    Args:
        pairs: per benchmark the scores (a, b), float64 [questions], of the same questions in the same order.
        resamples: number of resamples.
        seed: seed of the resampling.
    """
    counts = [len(a) for a, _ in pairs]

    def statistic(sums: Sequence[Floats]) -> Floats:
        return _mean([s[:, 0] / n for s, n in zip(sums, counts, strict=True)])

    return interval([(a - b)[:, None] for a, b in pairs], statistic, resamples, seed)


def relative_difference(pairs: Sequence[tuple[Floats, Floats]], resamples: int, seed: int) -> Interval:
    """``a / b - 1``, where a and b are means within each benchmark, averaged over the benchmarks.

    nan where ``b`` is 0. Arguments as in :func:`mean_difference`.
    """
    counts = [len(a) for a, _ in pairs]

    def statistic(sums: Sequence[Floats]) -> Floats:
        means = _mean([s / n for s, n in zip(sums, counts, strict=True)])
        return _ratio(means[:, 0], means[:, 1]) - 1

    return interval([np.column_stack(pair) for pair in pairs], statistic, resamples, seed)


def pooled_ratio_difference(strata: Sequence[Floats], resamples: int, seed: int) -> Interval:
    """Difference of two shares that are pooled over all clusters: sum / sum minus sum / sum.

    Args:
        strata: per benchmark, float64 [clusters, 4]: numerator and denominator of a, then of b. One row
            is one question with everything counted for it.
        resamples: number of resamples.
        seed: seed of the resampling.
    """

    def statistic(sums: Sequence[Floats]) -> Floats:
        total = np.asarray(np.sum(sums, axis=0), dtype=np.float64)
        return _ratio(total[:, 0], total[:, 1]) - _ratio(total[:, 2], total[:, 3])

    return interval(strata, statistic, resamples, seed)


def _mean(values: Sequence[Floats]) -> Floats:
    return np.asarray(np.mean(values, axis=0), dtype=np.float64)


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below != 0)
