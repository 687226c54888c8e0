"""Several runs as one curve: each on a common grid, their interquartile mean, and a band."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.statistics.estimators import CONFIDENCE, Array, interquartile_mean

_RESAMPLES = 1_000
_SEED = 0
_COLUMNS_AT_ONCE = 32
"""So that a thousand draws of fifty runs stay within some megabytes."""


@dataclass(frozen=True, slots=True)
class Band:
    """What runs had reached together at each point of a grid; low and high are a 95 % interval."""

    grid: Array
    middle: Array
    low: Array
    high: Array
    seeds: Sequence[int]
    """How many of the runs had come that far."""


def band(curves: Sequence[tuple[Array, Array]], grid: Array) -> Band:
    """Return the runs taken together on a grid.

    Each counts with the last value it had by then (previous-value fill), and only as far as it has
    come; whole runs are drawn, not points, as in rliable's stratified bootstrap. Points that no
    run has reached are left out.
    """
    values = np.array([filled(xs, ys, grid) for xs, ys in curves])
    there = ~np.isnan(values)
    reached = there.any(axis=0)
    grid, values, there = grid[reached], values[:, reached], there[:, reached]
    middle, low, high = (np.empty(len(grid)) for _ in range(3))
    for first, last in _stretches(there):
        present = values[there[:, first], first:last]
        middle[first:last] = interquartile_mean(present.T)
        low[first:last], high[first:last] = _interval(present)
    return Band(grid, middle, low, high, there.sum(axis=0).tolist())


def filled(xs: Array, ys: Array, grid: Array) -> Array:
    """Return the last value before each point of a grid; NaN before the first and past the end."""
    if not len(xs):
        return np.full(len(grid), np.nan)
    at = np.searchsorted(xs, grid, side="right") - 1
    known = (at >= 0) & (grid <= xs[-1])
    return np.where(known, ys[np.maximum(at, 0)], np.nan)


def _stretches(there: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]") -> list[tuple[int, int]]:
    """Return parts of the grid with the same runs in each, none too wide to draw at once."""
    width = there.shape[1]
    changes = np.flatnonzero((there[:, 1:] != there[:, :-1]).any(axis=0)) + 1
    edges = sorted({0, *range(0, width, _COLUMNS_AT_ONCE), *changes.tolist(), width})
    return list(pairwise(edges))


def _interval(values: Array) -> tuple[Array, Array]:
    count = len(values)
    chosen = np.random.default_rng(_SEED).integers(count, size=(_RESAMPLES, count))
    means = interquartile_mean(np.moveaxis(values[chosen], 1, -1))
    rest = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [rest, 100 - rest], axis=0)
    return low, high
