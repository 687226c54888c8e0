"""Aggregate curves: the interquartile mean of several runs on a common grid, with a band."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.statistics.estimators import CONFIDENCE, Array, interquartile_mean

_RESAMPLES = 1_000
_SEED = 0
_COLUMNS_AT_ONCE = 32
"""Limits the memory of a thousand resamples of fifty runs to some megabytes."""


@dataclass(frozen=True, slots=True)
class Band:
    """The interquartile mean of runs at each point of a grid, with its 95 % interval."""

    grid: Array
    middle: Array
    low: Array
    high: Array
    seeds: Sequence[int]
    """How many runs had reached each point."""


def band(curves: Sequence[tuple[Array, Array]], grid: Array) -> Band:
    """Return the aggregate of curves on a grid.

    Each curve counts with its previous value, up to its last point; the bootstrap resamples whole
    runs, not points, as rliable's stratified bootstrap does. Points that no run has reached are
    left out.
    """
    values = np.array([forward_fill(xs, ys, grid) for xs, ys in curves])
    reached_by = ~np.isnan(values)
    reached = reached_by.any(axis=0)
    grid, values, reached_by = grid[reached], values[:, reached], reached_by[:, reached]
    middle, low, high = (np.empty(len(grid)) for _ in range(3))
    for first, last in _blocks(reached_by):
        present = values[reached_by[:, first], first:last]
        middle[first:last] = interquartile_mean(present.T)
        low[first:last], high[first:last] = _interval(present)
    return Band(grid, middle, low, high, reached_by.sum(axis=0).tolist())


def forward_fill(xs: Array, ys: Array, grid: Array) -> Array:
    """Return the previous value at each point of a grid; NaN outside the curve."""
    if not len(xs):
        return np.full(len(grid), np.nan)
    at = np.searchsorted(xs, grid, side="right") - 1
    known = (at >= 0) & (grid <= xs[-1])
    return np.where(known, ys[np.maximum(at, 0)], np.nan)


def _blocks(reached_by: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]") -> list[tuple[int, int]]:
    """Return blocks of the grid, each reached by the same runs and narrow enough to resample."""
    width = reached_by.shape[1]
    changes = np.flatnonzero((reached_by[:, 1:] != reached_by[:, :-1]).any(axis=0)) + 1
    edges = sorted({0, *range(0, width, _COLUMNS_AT_ONCE), *changes.tolist(), width})
    return list(pairwise(edges))


def _interval(values: Array) -> tuple[Array, Array]:
    count = len(values)
    chosen = np.random.default_rng(_SEED).integers(count, size=(_RESAMPLES, count))
    means = interquartile_mean(np.moveaxis(values[chosen], 1, -1))
    rest = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(means, [rest, 100 - rest], axis=0)
    return low, high
