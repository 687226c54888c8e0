"""The curves of a comparison: one per run, and one per group over all its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.statistics import band
from storage.records import Curve, Pair

_GRID = 200
_DIGITS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The curve of one entry in one metric."""

    key: str
    metric: str
    points: Pair
    means: Pair | None = None
    """The mean of each bucket, where the points are its minimum and maximum."""
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    """A 95 % interval around each point of a group."""
    seeds: Sequence[int] = ()
    """How many runs of a group had reached each point."""


def line_of_run(key: str, metric: str, curve: Curve) -> Line:
    """Return the curve of a single run."""
    return Line(key=key, metric=metric, points=curve.points, means=curve.means)


def line_of_group(
    key: str, metric: str, curves: Sequence[Curve], window: tuple[float | None, float | None]
) -> Line | None:
    """Return the interquartile mean of several runs with its band; None without any curve."""
    if not curves:
        return None
    series = [tuple(map(np.asarray, curve.means or curve.points)) for curve in curves]
    start, end = window
    first = max(xs[0] for xs, _ in series)
    last = max(xs[-1] for xs, _ in series)
    first = first if start is None else max(first, start)
    last = last if end is None else min(last, end)
    grid = np.linspace(first, max(first, last), _GRID if last > first else 1)
    found = band([(xs, ys) for xs, ys in series], grid)
    return Line(
        key=key,
        metric=metric,
        points=(_short(found.grid, 12), _short(found.middle)),
        low=_short(found.low),
        high=_short(found.high),
        seeds=found.seeds,
    )


def _short(
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]", digits: int = _DIGITS
) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values.tolist()]
