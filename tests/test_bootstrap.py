"""Intervals against enumeration, the normal approximation, and what pairing must do."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canopy.metrics import bootstrap
from canopy.metrics.bootstrap import interval, mean_difference, pooled_ratio_difference, relative_difference

REPEATS = 10_000


def _arrays(*columns: list[float]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(column, dtype=np.float64) for column in columns)


def test_equals_enumeration_of_all_resamples() -> None:
    a, b = _arrays([1, 1, 0, 1], [0, 1, 0, 0])
    means = [np.mean(draw) for draw in product(a - b, repeat=4)]  # all 4^4 equally likely resamples
    got = mean_difference([(a, b)], REPEATS, seed=1)
    assert got.value == pytest.approx(0.5)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_one_in_three_by_hand() -> None:
    # Binomial(3, 1/3): P(0) = 8/27 > 2.5%, P(3) = 1/27 > 2.5%
    got = mean_difference([_arrays([0, 0, 1], [0, 0, 0])], REPEATS, seed=5)
    assert (got.low, got.high) == (0, 1)
    assert not got.away_from_zero()


def test_equals_normal_approximation() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.6, 1, 500), rng.normal(0.5, 1, 500)
    spread = 1.96 * (a - b).std() / np.sqrt(500)
    got = mean_difference([(a, b)], REPEATS, seed=2)
    assert got.value == pytest.approx((a - b).mean())
    assert (got.low, got.high) == pytest.approx(((a - b).mean() - spread, (a - b).mean() + spread), abs=0.05 * spread)


@pytest.mark.parametrize("others", [[], [_arrays([1, 0, 1], [0, 0, 1])]], ids=["alone", "beside a benchmark of three"])
def test_one_question_says_nothing_of_others(others: list[tuple[np.ndarray, ...]]) -> None:
    pairs = [_arrays([1], [0.5]), *others]
    for statistic in (mean_difference, relative_difference):
        got = statistic(pairs, 200, seed=5)  # type: ignore[arg-type]
        assert not np.isnan(got.value) and np.isnan([got.low, got.high]).all()
        assert not got.away_from_zero()


def test_average_is_stratified_by_benchmark() -> None:
    # Five times the questions do not give a benchmark five times the weight; variances add over the strata.
    rng = np.random.default_rng(3)
    small, large = rng.normal(1, 2, 100), rng.normal(0, 1, 500)
    got = mean_difference([(small, np.zeros(100)), (large, np.zeros(500))], REPEATS, seed=4)
    spread = 1.96 * np.sqrt(small.var() / 100 + large.var() / 500) / 2
    assert got.value == pytest.approx((small.mean() + large.mean()) / 2)
    assert got.high - got.low == pytest.approx(2 * spread, rel=0.05)


def test_pairing_removes_what_questions_have_in_common() -> None:
    rng = np.random.default_rng(6)
    b = rng.normal(0, 100, 50)
    got = mean_difference([(b + 1, b)], REPEATS, seed=7)
    assert (got.value, got.low, got.high) == pytest.approx((1, 1, 1))
    assert got.away_from_zero()


def test_relative_difference_of_proportional_columns_is_exact() -> None:
    tokens = np.array([100.0, 50, 10, 400])
    got = relative_difference([(1.2 * tokens, tokens)], REPEATS, seed=8)
    assert (got.value, got.low, got.high) == pytest.approx((0.2, 0.2, 0.2))


def test_relative_difference_averages_means_not_ratios() -> None:
    got = relative_difference([_arrays([30, 30], [10, 10]), _arrays([90, 90], [110, 110])], 100, seed=8)
    assert got.value == pytest.approx(60 / 60 - 1)


def test_relative_difference_to_nothing_is_undefined() -> None:
    got = relative_difference([_arrays([1, 2], [0, 0])], 200, seed=9)
    assert np.isnan([got.value, got.low, got.high]).all()


def test_pooled_ratio_keeps_clusters_together() -> None:
    # Two clusters: a is right 3 of 4 and 0 of 1, b 1 of 4 and 1 of 1.
    # Resamples: both first, mixed (twice), both second.
    rows = np.array([[3.0, 4, 1, 4], [0, 1, 1, 1]])
    got = pooled_ratio_difference([rows], REPEATS, seed=10)
    assert got.value == pytest.approx(3 / 5 - 2 / 5)
    assert (got.low, got.high) == pytest.approx((-1, 3 / 4 - 1 / 4))


def test_same_seed_same_interval_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    pairs = [(rng.random(37), rng.random(37))]
    whole = mean_difference(pairs, 1_000, seed=12)
    monkeypatch.setattr(bootstrap, "_CHUNK", 100)
    assert mean_difference(pairs, 1_000, seed=12) == whole
    assert mean_difference(pairs, 1_000, seed=13) != whole


scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20)


@given(scores)
@settings(max_examples=30)
def test_swapping_the_systems_mirrors_the_interval(pairs: list[tuple[float, float]]) -> None:
    a, b = _arrays([x for x, _ in pairs], [y for _, y in pairs])
    there, back = mean_difference([(a, b)], 300, seed=1), mean_difference([(b, a)], 300, seed=1)
    assert (there.value, there.low, there.high) == pytest.approx((-back.value, -back.high, -back.low))


@given(scores)
@settings(max_examples=30)
def test_interval_lies_within_the_sample(pairs: list[tuple[float, float]]) -> None:
    a, b = _arrays([x for x, _ in pairs], [y for _, y in pairs])
    got = mean_difference([(a, b)], 300, seed=1)
    slack = 1e-9
    assert (a - b).min() - slack <= got.low <= got.high <= (a - b).max() + slack


def test_interval_of_any_statistic() -> None:
    rows = np.arange(8.0).reshape(4, 2)
    got = interval([rows], lambda sums: sums[0][:, 1] - sums[0][:, 0], 100, seed=1)
    assert (got.value, got.low, got.high) == (4, 4, 4)  # each row's columns differ by 1
