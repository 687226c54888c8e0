"""The reference numbers come from rliable 1.2.0 and SciPy 1.17.1, worked out once by those."""

import math

import numpy as np
import pytest

from app.statistics.bands import band
from app.statistics.estimators import (
    Array,
    bootstrap_interval,
    chance_of_such_a_difference,
    effect_size,
    interquartile_mean,
    probability_of_improvement,
    seeds_needed,
)

OURS = np.array([12.0, 50.0, 33.5, 48.0, 47.0, 20.0, 41.0])
THEIRS = np.array([10.0, 22.0, 33.5, 19.0, 25.0])


def test_the_interquartile_mean_is_rliable_s() -> None:
    assert interquartile_mean(OURS) == pytest.approx(37.9)
    assert interquartile_mean(THEIRS) == pytest.approx(22.0)


def test_its_interval_is_rliable_s() -> None:
    low, high = bootstrap_interval(interquartile_mean, OURS)

    assert low == pytest.approx(23.7, abs=1.5)
    assert high == pytest.approx(47.4, abs=1.0)


def test_the_probability_of_improvement_is_rliable_s() -> None:
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


def test_chance_is_judged_as_scipy_s_permutation_test_does() -> None:
    assert chance_of_such_a_difference(OURS, THEIRS) == pytest.approx(0.1136363636)
    mixed = chance_of_such_a_difference(np.array([1, 5, 9, 11.0]), np.array([2, 3, 4, 0.5]))
    apart = chance_of_such_a_difference(np.array([7, 8, 9, 11.0]), np.array([2, 3, 4, 0.5]))
    assert mixed == pytest.approx(0.2)
    assert apart == pytest.approx(0.0285714286)


def test_many_seeds_are_judged_by_draws_and_come_to_the_same() -> None:
    random = np.random.default_rng(3)
    ours, theirs = random.normal(0.8, 1, 12), random.normal(0, 1, 12)
    # The normal approximation, which is close for twelve seeds each.
    u = 144 * float(probability_of_improvement(ours, theirs))
    z = (abs(u - 72) - 0.5) / math.sqrt(144 * 25 / 12)
    expected = math.erfc(z / math.sqrt(2))

    assert chance_of_such_a_difference(ours, theirs) == pytest.approx(expected, abs=0.01)


def test_three_seeds_each_can_never_tell_and_four_can() -> None:
    low, high = np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0, 13.0])

    assert chance_of_such_a_difference(low, high) == pytest.approx(0.1)
    assert chance_of_such_a_difference(np.append(low, 4), np.append(high, 14)) < 0.05


def test_the_seeds_needed_follow_noether_and_find_the_difference_as_often_as_promised() -> None:
    # Two normal scores that are 1.2 standard deviations apart: P(A > B) is 0.802.
    needed = seeds_needed(0.802)
    assert needed == 15
    random = np.random.default_rng(5)
    told = [
        chance_of_such_a_difference(random.normal(1.2, 1, needed), random.normal(0, 1, needed))
        < 0.05
        for _ in range(60)
    ]

    assert 0.65 <= np.mean(told) <= 0.97
    assert seeds_needed(1.0) == 6
    assert seeds_needed(0.5) is None


def test_the_band_holds_the_truth_about_as_often_as_it_says() -> None:
    """Seeds whose curves are shifted by chance: their true interquartile mean is the ramp."""
    grid = np.linspace(0, 100, 12)
    covered = {seeds: _coverage(seeds, grid) for seeds in (5, 10)}

    # A few seeds make a percentile bootstrap a little too sure: about 88 % with five.
    assert 0.80 <= covered[5] <= 0.97
    assert 0.88 <= covered[10] <= 0.99


def _coverage(seeds: int, grid: Array) -> float:
    random = np.random.default_rng(seeds)
    held = []
    for _ in range(200):
        shifts = random.normal(0, 1, seeds)
        found = band([(grid, grid + shift) for shift in shifts], grid)
        held.append((found.low[5] <= grid[5]) & (grid[5] <= found.high[5]))
    return float(np.mean(held))


def test_runs_of_different_length_and_spacing_meet_on_one_grid() -> None:
    """One reports every 4 steps, as with four environments, the other every 10 and ends early."""
    every_4 = np.arange(4.0, 101.0, 4.0)
    every_10 = np.arange(10.0, 61.0, 10.0)
    grid = np.array([2.0, 10.0, 19.0, 60.0, 61.0, 100.0, 101.0])

    found = band([(every_4, every_4), (every_10, 100 + every_10)], grid)

    # Before the first value and past the last one there is nothing; between two, the earlier holds.
    assert found.grid.tolist() == [10.0, 19.0, 60.0, 61.0, 100.0]
    assert found.seeds == [2, 2, 2, 1, 1]
    assert found.middle.tolist() == [(8 + 110) / 2, (16 + 110) / 2, (60 + 160) / 2, 60.0, 100.0]
    assert (found.low[0], found.high[0]) == (8.0, 110.0)


def test_one_run_alone_has_a_band_without_width() -> None:
    found = band([(np.array([1.0, 2.0]), np.array([5.0, 6.0]))], np.array([1.0, 2.0]))

    assert found.low.tolist() == found.middle.tolist() == found.high.tolist() == [5.0, 6.0]
