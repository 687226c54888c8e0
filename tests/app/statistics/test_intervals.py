"""Simulations: how often each interval holds the true value."""

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest

from app.statistics.estimators import Array, bootstrap_interval, interquartile_mean
from app.statistics.intervals import (
    Interval,
    improvement_interval,
    iqm_half_width,
    iqm_interval,
    mean_interval,
)

_REPETITIONS = 4_000
_CRASH = 0.3
_MEAN_WITH_CRASHES = 0.7 * 250 - 0.3 * 100
_IQM_OF_EXPONENTIAL = 0.7383

Sampler = Callable[[int], Array]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(1)


def normal(random: np.random.Generator, count: int) -> Array:
    return random.normal(size=(_REPETITIONS, count))


def with_crashes(random: np.random.Generator, count: int) -> Array:
    """Return returns like those of LunarLander: 250, or -100 after a crash."""
    crashed = random.random((_REPETITIONS, count)) < _CRASH
    good, bad = random.normal(250, 20, crashed.shape), random.normal(-100, 50, crashed.shape)
    return np.where(crashed, bad, good)


def covered(intervals: list[Interval | None], truth: float) -> float:
    return float(np.mean([one is not None and one[0] <= truth <= one[1] for one in intervals]))


def iqm_covered(samples: Array, truth: float) -> float:
    half = iqm_half_width(samples)
    assert half is not None
    return float(np.mean(np.abs(interquartile_mean(samples) - truth) <= half))


@pytest.mark.parametrize("episodes", [3, 5, 10, 20])
def test_the_interval_of_a_mean_covers_95_percent(
    random: np.random.Generator, episodes: int
) -> None:
    intervals = [mean_interval(one) for one in normal(random, episodes)]

    assert covered(intervals, 0.0) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("episodes", [10, 20])
def test_the_interval_of_a_mean_covers_95_percent_although_episodes_crash(
    random: np.random.Generator, episodes: int
) -> None:
    intervals = [mean_interval(one) for one in with_crashes(random, episodes)]

    assert covered(intervals, _MEAN_WITH_CRASHES) == pytest.approx(0.95, abs=0.02)


def test_five_episodes_can_not_show_that_one_in_three_crashes(random: np.random.Generator) -> None:
    """Where no episode crashed, in 17 % of cases, nothing tells that one could."""
    intervals = [mean_interval(one) for one in with_crashes(random, 5)]

    assert covered(intervals, _MEAN_WITH_CRASHES) == pytest.approx(1 - 0.7**5, abs=0.02)


@pytest.mark.parametrize("seeds", [3, 4, 5, 10, 20])
def test_the_interval_of_an_interquartile_mean_covers_95_percent(
    random: np.random.Generator, seeds: int
) -> None:
    assert iqm_covered(normal(random, seeds), 0.0) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("seeds", [5, 10])
def test_the_interval_of_an_interquartile_mean_covers_95_percent_of_skewed_scores(
    random: np.random.Generator, seeds: int
) -> None:
    samples = random.exponential(size=(_REPETITIONS, seeds))

    assert iqm_covered(samples, _IQM_OF_EXPONENTIAL) == pytest.approx(0.95, abs=0.02)


def test_the_percentile_bootstrap_covers_less(random: np.random.Generator) -> None:
    samples = normal(random, 5)[:300]
    intervals = [bootstrap_interval(interquartile_mean, one) for one in samples]

    assert covered(list(intervals), 0.0) < 0.93


@pytest.mark.parametrize("seeds", [4, 5, 10])
@pytest.mark.parametrize("distance", [0.0, 1.0, 2.0])
def test_the_interval_of_the_probability_of_improvement_covers_about_95_percent(
    random: np.random.Generator, seeds: int, distance: float
) -> None:
    truth = NormalDist().cdf(distance / 2**0.5)
    intervals = [
        improvement_interval(random.normal(distance, 1, seeds), random.normal(0, 1, seeds))
        for _ in range(800)
    ]

    assert 0.92 <= covered(intervals, truth) <= 0.985


def test_no_probability_is_certain_even_if_all_pairs_agree() -> None:
    low, high = np.arange(5.0), np.arange(10.0, 15.0)

    assert improvement_interval(high, low) == (pytest.approx(0.643, abs=0.001), 1.0)
    assert improvement_interval(low, high) == (0.0, pytest.approx(0.357, abs=0.001))


def test_the_interval_of_a_mean_is_students_t_without_skewness() -> None:
    # The limits are those of SciPy.
    assert mean_interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(
        (1.0368, 4.9632), abs=1e-4
    )


@pytest.mark.parametrize("samples", [[], [5.0], [5.0, 6.0], [5.0, 5.0, 5.0, 5.0]])
def test_too_few_or_equal_samples_have_no_interval(samples: list[float]) -> None:
    assert mean_interval(np.array(samples)) is None
    assert iqm_interval(np.array(samples)) is None


def test_three_seeds_each_are_too_few_for_the_probability_of_improvement() -> None:
    assert improvement_interval(np.arange(3.0), np.arange(5.0)) is None
