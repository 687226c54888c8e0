"""Aggregate curves: the interquartile mean of several runs on a common grid, with a band."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from app.statistics.estimators import Array, interquartile_mean
from app.statistics.intervals import iqm_half_width


@dataclass(frozen=True, slots=True)
class Band:
    """The interquartile mean of runs at each point of a grid, with its 95 % interval."""

    grid: Array
    middle: Array
    low: Array
    """NaN where there is no interval, like `high`."""
    high: Array
    seeds: Sequence[int]
    """How many runs have a value at each point."""


def band(
    curves: Sequence[tuple[Array, Array]], grid: Array, *, ends: Sequence[float] | None = None
) -> Band:
    """Return the aggregate of curves on a grid.

    Each curve counts with its previous value, up to its end or else its last point. Grid points
    at which no curve has a value are omitted.
    """
    ends = [xs[-1] if len(xs) else 0.0 for xs, _ in curves] if ends is None else ends
    values = np.array(
        [forward_fill(xs, ys, grid, end) for (xs, ys), end in zip(curves, ends, strict=True)]
    )
    has_value = ~np.isnan(values)
    is_kept = has_value.any(axis=0)
    grid, values, has_value = grid[is_kept], values[:, is_kept], has_value[:, is_kept]
    middle, half = np.empty(len(grid)), np.full(len(grid), np.nan)
    for first, last in _blocks(has_value):
        present = values[has_value[:, first], first:last].T
        middle[first:last] = interquartile_mean(present)
        if (widths := iqm_half_width(present)) is not None:
            half[first:last] = np.where(widths > 0, widths, np.nan)
    return Band(grid, middle, middle - half, middle + half, has_value.sum(axis=0).tolist())


def forward_fill(xs: Array, ys: Array, grid: Array, end: float) -> Array:
    """Return the previous value at each point of a grid; NaN before the curve and after `end`."""
    if not len(xs):
        return np.full(len(grid), np.nan)
    at = np.searchsorted(xs, grid, side="right") - 1
    known = (at >= 0) & (grid <= max(end, xs[-1]))
    return np.where(known, ys[np.maximum(at, 0)], np.nan)


def _blocks(has_value: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]") -> list[tuple[int, int]]:
    """Return blocks of the grid in which the same curves have values."""
    changes = np.flatnonzero((has_value[:, 1:] != has_value[:, :-1]).any(axis=0)) + 1
    return list(pairwise(sorted({0, *changes.tolist(), has_value.shape[1]})))
