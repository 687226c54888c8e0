"""The curves of a comparison: one per run, and one per group over all its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan

import numpy as np

from app.statistics import Array, band
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
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    """A 95 % interval around each point of a group; None below three runs, or if all are equal."""
    seeds: Sequence[int] = ()
    """How many runs of a group had trained to each point, or had solved the task before it."""


def line_of_run(key: str, metric: str, curve: Curve) -> Line:
    """Return the curve of a single run."""
    return Line(key=key, metric=metric, points=curve.points, means=curve.means)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCurve:
    """One metric of one run of a group, in a window."""

    inside: Curve | None
    before: Curve | None
    """The curve before the window: its last value holds at the start of the window."""
    end: float
    """How far on the axis the last value holds."""


def line_of_group(
    key: str, metric: str, curves: Sequence[GroupCurve], window: tuple[float | None, float | None]
) -> Line | None:
    """Return the interquartile mean of several runs with its band; None without any curve."""
    series = [(*_series(curve), curve.end) for curve in curves]
    series = [(xs, ys, end) for xs, ys, end in series if len(xs)]
    if not series:
        return None
    grid = _grid(series, window)
    found = band([(xs, ys) for xs, ys, _ in series], grid, ends=[end for *_, end in series])
    return Line(
        key=key,
        metric=metric,
        points=([_short(x, 12) for x in found.grid.tolist()], list(map(_short, found.middle))),
        low=[None if isnan(y) else _short(y) for y in found.low.tolist()],
        high=[None if isnan(y) else _short(y) for y in found.high.tolist()],
        seeds=found.seeds,
    )


def _series(curve: GroupCurve) -> tuple[Array, Array]:
    parts = [_arrays(curve.before), _arrays(curve.inside)]
    xs, ys = (np.concatenate(both) for both in zip(*parts, strict=True))
    order = np.argsort(xs, kind="stable")
    return xs[order], ys[order]


def _arrays(curve: Curve | None) -> tuple[Array, Array]:
    xs, ys = ((), ()) if curve is None else curve.means or curve.points
    return np.asarray(xs, dtype=np.float64), np.asarray(ys, dtype=np.float64)


def _grid(
    series: Sequence[tuple[Array, Array, float]], window: tuple[float | None, float | None]
) -> Array:
    start, end = window
    first = max(float(xs[0]) for xs, *_ in series)
    lasts = [float(xs[-1]) for xs, *_ in series]
    last = max([*lasts, *(one for *_, one in series if one != inf)])
    first = first if start is None else max(first, start)
    last = last if end is None else min(last, end)
    return np.linspace(first, max(first, last), _GRID if last > first else 1)


def _short(value: float, digits: int = _DIGITS) -> float:
    return float(f"{value:.{digits}g}")
