"""Aggregates of normalized scores over several tasks, as in rliable (Agarwal et al. 2021).

A method has an array of scores per task, one of each run. The intervals are rliable's, too: a
percentile bootstrap that resamples the runs of each task, since results are compared with its.
"""

from collections.abc import Sequence

import numpy as np

from app.statistics.estimators import Array, Statistic, bootstrap_interval, interquartile_mean
from app.statistics.intervals import MIN_SAMPLES, Interval

OPTIMUM = 1.0
"""The normalized score up to which the optimality gap counts."""


def aggregate_mean(*tasks: Array) -> Array:
    """Return the mean over tasks of the mean score of each."""
    means: Array = _task_means(tasks).mean(axis=-1)
    return means


def aggregate_median(*tasks: Array) -> Array:
    """Return the median over tasks of the mean score of each."""
    medians: Array = np.median(_task_means(tasks), axis=-1)
    return medians


def aggregate_iqm(*tasks: Array) -> Array:
    """Return the interquartile mean of all runs on all tasks."""
    return interquartile_mean(np.concatenate(tasks, axis=-1))


def optimality_gap(*tasks: Array) -> Array:
    """Return how far the runs fall short of a score of 1 on average; more than 1 counts as 1."""
    capped = np.minimum(np.concatenate(tasks, axis=-1), OPTIMUM)
    gaps: Array = OPTIMUM - capped.mean(axis=-1)
    return gaps


def aggregate_interval(statistic: Statistic, tasks: Sequence[Array]) -> Interval | None:
    """Return rliable's 95 % interval of an aggregate; None if a task has fewer than three runs."""
    if any(len(scores) < MIN_SAMPLES for scores in tasks):
        return None
    low, high = bootstrap_interval(statistic, *tasks)
    return (low, high) if low < high else None


def performance_profile(tasks: Sequence[Array], taus: Array) -> Array:
    """Return the share of runs on all tasks whose score is above each tau."""
    scores = np.concatenate(list(tasks))
    shares: Array = (scores[:, np.newaxis] > taus).mean(axis=0)
    return shares


def _task_means(tasks: Sequence[Array]) -> Array:
    return np.stack([scores.mean(axis=-1) for scores in tasks], axis=-1)
