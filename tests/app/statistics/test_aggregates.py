"""The expected numbers are those of rliable's own tests, or computed by its formulas by hand."""

import numpy as np
import pytest

from app.statistics.aggregates import (
    aggregate_interval,
    aggregate_iqm,
    aggregate_mean,
    aggregate_median,
    optimality_gap,
    performance_profile,
)

# Runs by task; rliable has a matrix of runs and tasks.
X = [np.array([1.0, 2.0, 1.0, 2.0]), np.array([2.0, 2.0, 1.0, 1.0])]
Y = [np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])]
SCORES = [np.array([0.1, 0.5, 0.9]), np.array([0.4, 1.5, 0.2]), np.array([1.2, 0.8, 1.0])]


def test_the_aggregates_match_the_tests_of_rliable() -> None:
    assert [float(one(*X)) for one in (aggregate_median, aggregate_mean, aggregate_iqm)] == [
        1.5
    ] * 3
    assert [float(one(*Y)) for one in (aggregate_median, aggregate_mean, aggregate_iqm)] == [
        2.0
    ] * 3


def test_the_aggregates_of_three_tasks_follow_their_formulas() -> None:
    # Task means 0.5, 0.7 and 1.0; SciPy's trim_mean cuts two of nine scores at either end.
    assert float(aggregate_mean(*SCORES)) == pytest.approx((0.5 + 0.7 + 1.0) / 3)
    assert float(aggregate_median(*SCORES)) == pytest.approx(0.7)
    assert float(aggregate_iqm(*SCORES)) == pytest.approx((0.4 + 0.5 + 0.8 + 0.9 + 1.0) / 5)
    # 1.5 and 1.2 count as 1.
    assert float(optimality_gap(*SCORES)) == pytest.approx(1 - 5.9 / 9)


def test_the_profile_is_the_share_of_runs_above_each_threshold() -> None:
    shares = performance_profile(SCORES, np.array([0.0, 0.4, 0.95, 1.5]))

    assert shares.tolist() == pytest.approx([1.0, 6 / 9, 3 / 9, 0.0])


def test_the_interval_resamples_the_runs_of_each_task() -> None:
    """All that varies is which runs of a task are drawn; the tasks stay."""
    tasks = [np.array([0.0, 0.0, 0.0]), np.array([1.0, 1.2, 1.4])]

    interval = aggregate_interval(aggregate_mean, tasks)

    assert interval is not None
    assert 0.5 <= interval[0] < 0.6 < interval[1] <= 0.7


def test_too_few_runs_of_a_task_or_equal_ones_have_no_interval() -> None:
    assert aggregate_interval(aggregate_iqm, [SCORES[0], SCORES[1][:2]]) is None
    assert aggregate_interval(aggregate_iqm, [np.ones(5), np.ones(5)]) is None
