"""The reference numbers were computed once with rliable 1.2.0 and SciPy 1.17.1."""

import math

import numpy as np
import pytest

from app.statistics.bands import band
from app.statistics.estimators import (
    Array,
    bootstrap_interval,
    effect_size,
    interquartile_mean,
    permutation_p_value,
    probability_of_improvement,
    seeds_needed,
)

OURS = np.array([12.0, 50.0, 33.5, 48.0, 47.0, 20.0, 41.0])
THEIRS = np.array([10.0, 22.0, 33.5, 19.0, 25.0])


def test_the_interquartile_mean_matches_rliable() -> None:
    assert interquartile_mean(OURS) == pytest.approx(37.9)
    assert interquartile_mean(THEIRS) == pytest.approx(22.0)


def test_the_interval_of_the_interquartile_mean_matches_rliable() -> None:
    low, high = bootstrap_interval(interquartile_mean, OURS)

    assert low == pytest.approx(23.7, abs=1.5)
    assert high == pytest.approx(47.4, abs=1.0)


def test_the_probability_of_improvement_matches_rliable() -> None:
    low, high = bootstrap_interval(probability_of_improvement, OURS, THEIRS)

    assert probability_of_improvement(OURS, THEIRS) == pytest.approx(0.7857142857)
    assert low == pytest.approx(0.4857, abs=0.03)
    assert high == pytest.approx(1.0, abs=0.01)


def test_the_probability_of_improvement_counts_pairs_and_half_of_the_ties() -> None:
    pairs = [(a > b) + 0.5 * (a == b) for a in OURS for b in THEIRS]

    assert probability_of_improvement(OURS, THEIRS) == pytest.approx(sum(pairs) / len(pairs))
    assert probability_of_improvement(THEIRS, THEIRS) == 0.5


def test_the_effect_size_is_hedges_g() -> None:
    assert effect_size(OURS, THEIRS) == pytest.approx(1.0179032239)
    assert effect_size(THEIRS, OURS) == pytest.approx(-1.0179032239)
    assert effect_size(OURS[:1], THEIRS) is None
    assert effect_size(np.full(3, 500.0), np.full(3, 20.0)) is None


def test_the_p_value_matches_the_permutation_test_of_scipy() -> None:
    assert permutation_p_value(OURS, THEIRS) == pytest.approx(0.1136363636)
    mixed = permutation_p_value(np.array([1, 5, 9, 11.0]), np.array([2, 3, 4, 0.5]))
    apart = permutation_p_value(np.array([7, 8, 9, 11.0]), np.array([2, 3, 4, 0.5]))
    assert mixed == pytest.approx(0.2)
    assert apart == pytest.approx(0.0285714286)


def test_the_p_value_of_many_seeds_is_sampled_and_matches_the_normal_approximation() -> None:
    random = np.random.default_rng(3)
    ours, theirs = random.normal(0.8, 1, 12), random.normal(0, 1, 12)
    # The normal approximation, which is close for twelve seeds each.
    u = 144 * float(probability_of_improvement(ours, theirs))
    z = (abs(u - 72) - 0.5) / math.sqrt(144 * 25 / 12)
    expected = math.erfc(z / math.sqrt(2))

    assert permutation_p_value(ours, theirs) == pytest.approx(expected, abs=0.01)


def test_three_seeds_each_are_never_significant_and_four_can_be() -> None:
    low, high = np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0, 13.0])

    assert permutation_p_value(low, high) == pytest.approx(0.1)
    assert permutation_p_value(np.append(low, 4), np.append(high, 14)) < 0.05


def test_the_seeds_needed_follow_noether_and_reach_the_promised_power() -> None:
    # Two normal scores that are 1.2 standard deviations apart: P(A > B) is 0.802.
    needed = seeds_needed(0.802)
    assert needed == 15
    random = np.random.default_rng(5)
    significant = [
        permutation_p_value(random.normal(1.2, 1, needed), random.normal(0, 1, needed)) < 0.05
        for _ in range(60)
    ]

    assert 0.65 <= np.mean(significant) <= 0.97
    assert seeds_needed(1.0) == 6
    assert seeds_needed(0.5) is None


def test_the_band_covers_the_true_curve_in_95_percent_of_repetitions() -> None:
    """The curves of the seeds have random offsets; their true interquartile mean is the ramp."""
    grid = np.linspace(0, 100, 12)

    for seeds in (3, 5, 10):
        assert _coverage(seeds, grid) == pytest.approx(0.95, abs=0.02)


def _coverage(seeds: int, grid: Array) -> float:
    random = np.random.default_rng(seeds)
    covered = []
    for _ in range(2_000):
        shifts = random.normal(0, 1, seeds)
        result = band([(grid, grid + shift) for shift in shifts], grid)
        covered.append((result.low[5] <= grid[5]) & (grid[5] <= result.high[5]))
    return float(np.mean(covered))


def test_runs_of_different_length_and_spacing_share_one_grid() -> None:
    """One run reports every 4 steps, as with 4 environments; the other every 10 and ends early."""
    every_4 = np.arange(4.0, 101.0, 4.0)
    every_10 = np.arange(10.0, 61.0, 10.0)
    grid = np.array([2.0, 10.0, 19.0, 60.0, 61.0, 100.0, 101.0])

    result = band([(every_4, every_4), (every_10, 100 + every_10)], grid)

    # No value before the first and after the last point; between two, the earlier one holds.
    assert result.grid.tolist() == [10.0, 19.0, 60.0, 61.0, 100.0]
    assert result.seeds == [2, 2, 2, 1, 1]
    assert result.middle.tolist() == [(8 + 110) / 2, (16 + 110) / 2, (60 + 160) / 2, 60.0, 100.0]
    assert np.isnan([result.low, result.high]).all()  # Of two runs there is no interval.


def test_the_last_value_of_a_run_holds_up_to_its_end() -> None:
    grid = np.array([1.0, 2.0, 3.0, 4.0])
    curves = [(np.array([1.0, 2.0]), np.array([5.0, 6.0])), (grid, grid)]

    result = band(curves, grid, ends=[3.0, 4.0])

    assert result.seeds == [2, 2, 2, 1]
    assert result.middle.tolist() == [3.0, 4.0, 4.5, 4.0]


def test_equal_runs_have_no_band() -> None:
    xs, ys = np.array([1.0, 2.0]), np.array([5.0, 6.0])

    result = band([(xs, ys)] * 4, xs)

    assert result.middle.tolist() == [5.0, 6.0]
    assert np.isnan([result.low, result.high]).all()
