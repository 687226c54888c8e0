"""Aggregate the lines of a metrics file into buckets, as small as the memory limit allows."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.records import Curve, JsonObject, Pair, unfold

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MAX_BUCKETS = 8_192
_MAX_NAMES = 96
_INITIAL_CAPACITY = 256
_BYTE = "@byte"
_SKIPPED = frozenset({"n", "t", "agents", "progress"})

_COUNT, _SUM, _MIN, _MAX = range(4)


class Buckets:
    """Count, sum, minimum and maximum of each metric per bucket of lines.

    When there are too many buckets, pairs are merged, so memory is bounded for files of any size.
    """

    def __init__(self, *, first: int = 1, most: int = _MAX_BUCKETS) -> None:
        self.size = 1
        """Number of lines per bucket."""
        self._first = first
        self._most = most
        self._used = 0
        self._columns: dict[str, Floats] = {}

    def add(self, lines: Sequence[JsonObject], starts: Integers) -> None:
        """Add lines with their offsets in the file."""
        newest = lines[-1]["n"] - self._first
        while newest // self.size >= self._most:
            self._merge_pairs()
        self._used = newest // self.size + 1
        numbers = np.fromiter((line["n"] for line in lines), np.int64, len(lines))
        self._add_values(_BYTE, numbers, starts.astype(np.float64))
        for name, rows, values in _columns([unfold(line) for line in lines]):
            self._add_values(name, numbers[rows], _floats(values))

    def names(self, wanted: Sequence[str]) -> list[str]:
        """Return the existing metrics that match the wanted names."""
        found = (
            name
            for pattern in wanted
            for name in self._columns
            if name == pattern or (pattern.endswith("/") and name.startswith(pattern))
        )
        return list(dict.fromkeys(found))

    def between(self, axis: str, start: float | None, end: float | None) -> tuple[int, int]:
        """Return the first bucket of a window, and the one after its last."""
        lows, highs = self._bounds(axis)
        first = 0 if start is None else int(np.searchsorted(highs, start, "left"))
        last = self._used if end is None else int(np.searchsorted(lows, end, "right"))
        # One more on each side, so that curves reach the edges of the view.
        return max(0, first - 1), min(self._used, max(last, first) + 1)

    def extent(self, axis: str) -> tuple[float, float]:
        """Return the first and the last value of an axis."""
        lows, highs = self._bounds(axis)
        return (float(lows[0]), float(highs[-1])) if self._used else (0.0, 0.0)

    def place(self, step: int, axis: str) -> float:
        """Return the position of a step on an axis."""
        if not self._used or axis == "timesteps":
            return float(step)
        return float(np.interp(step, self._bounds("timesteps")[1], self._bounds(axis)[1]))

    def bytes(self, first: int, last: int) -> tuple[int, int | None]:
        """Return the byte range of buckets in the file; None means its end."""
        begins = self._bounds(_BYTE)[0]
        return int(begins[first]), int(begins[last]) if last < self._used else None

    def part(self, first: int, last: int) -> "Buckets":
        """Return a slice of the buckets."""
        part = Buckets()
        part.size, part._used = self.size, last - first
        part._columns = {name: column[:, first:last] for name, column in self._columns.items()}
        return part

    def curve(self, name: str, axis: str, max_points: int) -> Curve | None:
        """Return one metric over an axis, in at most `max_points` points."""
        values, xs = self._columns.get(name), self._columns.get(axis)
        if values is None or xs is None:
            return None
        width = min(values.shape[1], xs.shape[1])
        values, xs = values[:, :width], xs[:, :width]
        some = (values[_COUNT] > 0) & (xs[_COUNT] > 0)
        return _thin(values[:, some], xs[:, some], max_points) if some.any() else None

    def _bounds(self, name: str) -> tuple[Floats, Floats]:
        """Return minimum and maximum of each bucket; an empty bucket repeats the previous one."""
        column = self._columns.get(name)
        if column is None:
            return np.zeros(self._used), np.zeros(self._used)
        highs = np.maximum.accumulate(column[_MAX, : self._used])
        return np.minimum(column[_MIN, : self._used], highs), highs

    def _add_values(self, name: str, numbers: Integers, values: Floats) -> None:
        known = np.isfinite(values)
        exceeds_limit = name not in self._columns and len(self._columns) > _MAX_NAMES
        if exceeds_limit or not known.any():
            return
        values, buckets = values[known], (numbers[known] - self._first) // self.size
        column = self._column(name)
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        places = buckets[starts]
        added = _reduce(np.stack([np.ones_like(values), values, values, values]), starts)
        column[:_MIN, places] += added[:_MIN]
        column[_MIN, places] = np.minimum(column[_MIN, places], added[_MIN])
        column[_MAX, places] = np.maximum(column[_MAX, places], added[_MAX])

    def _column(self, name: str) -> Floats:
        column = self._columns.get(name, _empty(0))
        if (width := column.shape[1]) < self._used:
            capacity = min(self._most, max(2 * self._used, _INITIAL_CAPACITY))
            column = np.concatenate([column, _empty(capacity - width)], axis=1)
        self._columns[name] = column
        return column

    def _merge_pairs(self) -> None:
        self.size *= 2
        for name, column in self._columns.items():
            self._columns[name] = _reduce(column, np.arange(0, column.shape[1], 2))


def _columns(lines: Sequence[JsonObject]) -> Iterator[tuple[str, Integers, Sequence[Any]]]:
    """Yield each metric with the indices of its lines and its values.

    Lines with the same names in the same order are processed together, for speed.
    """
    kinds: dict[tuple[str, ...], list[int]] = {}
    for row, line in enumerate(lines):
        kinds.setdefault(tuple(line), []).append(row)
    for names, found in kinds.items():
        rows = np.array(found, dtype=np.int64)
        table = zip(*(lines[row].values() for row in found), strict=True)
        for name, values in zip(names, table, strict=True):
            if name not in _SKIPPED:
                yield name, rows, values


def _floats(values: Sequence[Any]) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.full(len(values), np.nan)


def _empty(width: int) -> Floats:
    return np.repeat(np.array([[0.0], [0.0], [np.inf], [-np.inf]]), width, axis=1)


def _reduce(column: Floats, starts: Integers) -> Floats:
    """Merge the buckets from each start to the next."""
    if not len(starts):
        return column
    return np.stack(
        [
            np.add.reduceat(column[_COUNT], starts),
            np.add.reduceat(column[_SUM], starts),
            np.minimum.reduceat(column[_MIN], starts),
            np.maximum.reduceat(column[_MAX], starts),
        ]
    )


def _thin(values: Floats, xs: Floats, max_points: int) -> Curve:
    """Return all values if they are few, otherwise minimum and maximum of equal parts."""
    width = values.shape[1]
    if width <= max_points and values[_COUNT].max() == 1:
        return Curve(_pair(xs[_MIN], values[_MIN]), None)
    starts = np.arange(0, width, ceil(2 * width / max_points))
    values, xs = _reduce(values, starts), _reduce(xs, starts)
    # A part with a single value gets a single point.
    kept = np.stack([values[_COUNT] > 0, values[_COUNT] > 1], axis=1).ravel()
    both = _pair(xs[_MIN:].T.ravel()[kept], values[_MIN:].T.ravel()[kept])
    middle = (xs[_MIN] + xs[_MAX]) / 2
    return Curve(both, _pair(middle, values[_SUM] / values[_COUNT]))


def _pair(xs: Floats, ys: Floats) -> Pair:
    """Round to the precision that is visible in a chart."""
    return [float(f"{x:.12g}") for x in xs.tolist()], [float(f"{y:.7g}") for y in ys.tolist()]
