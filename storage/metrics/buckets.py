"""Groups of lines, as small as there is room for: what is remembered of a long file of metrics."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.records.curves import Curve, Pair, unfold
from storage.records.runs import JsonObject

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_BUCKETS = 8_192
_MOST_NAMES = 96
_ROOM_AT_FIRST = 256
_BYTE = "@byte"
_SKIPPED = frozenset({"n", "t", "agents", "progress"})

_COUNT, _SUM, _LEAST, _GREATEST = range(4)


class Buckets:
    """How many values each metric has in a group of lines, their sum, least and greatest.

    When there are too many groups, every two become one: the memory has a bound, the file has none.
    """

    def __init__(self, *, first: int = 1, most: int = _MOST_BUCKETS) -> None:
        self.size = 1
        """How many lines belong to a bucket."""
        self._first = first
        self._most = most
        self._used = 0
        self._columns: dict[str, Floats] = {}

    def add(self, lines: Sequence[JsonObject], starts: Integers) -> None:
        """Add lines, and where in their file they begin."""
        newest = lines[-1]["n"] - self._first
        while newest // self.size >= self._most:
            self._merge_pairs()
        self._used = newest // self.size + 1
        numbers = np.fromiter((line["n"] for line in lines), np.int64, len(lines))
        self._add_values(_BYTE, numbers, starts.astype(np.float64))
        for name, rows, values in _columns([unfold(line) for line in lines]):
            self._add_values(name, numbers[rows], _floats(values))

    def names(self, wanted: Sequence[str]) -> list[str]:
        """Return those of the metrics asked for that there are."""
        found = (
            name
            for wish in wanted
            for name in self._columns
            if name == wish or (wish.endswith("/") and name.startswith(wish))
        )
        return list(dict.fromkeys(found))

    def between(self, axis: str, start: float | None, end: float | None) -> tuple[int, int]:
        """Return the first bucket of a window, and the one after its last."""
        least, greatest = self._reach(axis)
        first = 0 if start is None else int(np.searchsorted(greatest, start, "left"))
        last = self._used if end is None else int(np.searchsorted(least, end, "right"))
        # One before and one behind, so that lines go on to the edges.
        return max(0, first - 1), min(self._used, max(last, first) + 1)

    def extent(self, axis: str) -> tuple[float, float]:
        """Return the first and the last value of an axis."""
        least, greatest = self._reach(axis)
        return (float(least[0]), float(greatest[-1])) if self._used else (0.0, 0.0)

    def place(self, step: int, axis: str) -> float:
        """Return where on an axis a step is."""
        if not self._used or axis == "timesteps":
            return float(step)
        return float(np.interp(step, self._reach("timesteps")[1], self._reach(axis)[1]))

    def bytes(self, first: int, last: int) -> tuple[int, int | None]:
        """Return where buckets are in the file; None: up to its end."""
        begins = self._reach(_BYTE)[0]
        return int(begins[first]), int(begins[last]) if last < self._used else None

    def part(self, first: int, last: int) -> "Buckets":
        """Return some of the buckets."""
        part = Buckets()
        part.size, part._used = self.size, last - first
        part._columns = {name: column[:, first:last] for name, column in self._columns.items()}
        return part

    def curve(self, name: str, axis: str, max_points: int) -> Curve | None:
        """Return one metric over an axis, in at most so many points."""
        values, xs = self._columns.get(name), self._columns.get(axis)
        if values is None or xs is None:
            return None
        width = min(values.shape[1], xs.shape[1])
        values, xs = values[:, :width], xs[:, :width]
        some = (values[_COUNT] > 0) & (xs[_COUNT] > 0)
        return _thin(values[:, some], xs[:, some], max_points) if some.any() else None

    def _reach(self, name: str) -> tuple[Floats, Floats]:
        """Return the least and the greatest of each bucket; an empty one is like that before."""
        column = self._columns.get(name)
        if column is None:
            return np.zeros(self._used), np.zeros(self._used)
        greatest = np.maximum.accumulate(column[_GREATEST, : self._used])
        return np.minimum(column[_LEAST, : self._used], greatest), greatest

    def _add_values(self, name: str, numbers: Integers, values: Floats) -> None:
        known = np.isfinite(values)
        is_one_too_many = name not in self._columns and len(self._columns) > _MOST_NAMES
        if is_one_too_many or not known.any():
            return
        values, buckets = values[known], (numbers[known] - self._first) // self.size
        column = self._column(name)
        starts = np.flatnonzero(np.diff(buckets, prepend=-1))
        places = buckets[starts]
        added = _reduce(np.stack([np.ones_like(values), values, values, values]), starts)
        column[:_LEAST, places] += added[:_LEAST]
        column[_LEAST, places] = np.minimum(column[_LEAST, places], added[_LEAST])
        column[_GREATEST, places] = np.maximum(column[_GREATEST, places], added[_GREATEST])

    def _column(self, name: str) -> Floats:
        column = self._columns.get(name, _empty(0))
        if (width := column.shape[1]) < self._used:
            room = min(self._most, max(2 * self._used, _ROOM_AT_FIRST))
            column = np.concatenate([column, _empty(room - width)], axis=1)
        self._columns[name] = column
        return column

    def _merge_pairs(self) -> None:
        self.size *= 2
        for name, column in self._columns.items():
            self._columns[name] = _reduce(column, np.arange(0, column.shape[1], 2))


def _columns(lines: Sequence[JsonObject]) -> Iterator[tuple[str, Integers, Sequence[Any]]]:
    """Yield each metric, in which lines it is, and its values there.

    Lines of one kind have the same names in the same order, which makes this quick.
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
    """Make one bucket of all from one start to the next."""
    if not len(starts):
        return column
    return np.stack(
        [
            np.add.reduceat(column[_COUNT], starts),
            np.add.reduceat(column[_SUM], starts),
            np.minimum.reduceat(column[_LEAST], starts),
            np.maximum.reduceat(column[_GREATEST], starts),
        ]
    )


def _thin(values: Floats, xs: Floats, max_points: int) -> Curve:
    """Return all values if they are few, otherwise the least and the greatest of equal parts."""
    width = values.shape[1]
    if width <= max_points and values[_COUNT].max() == 1:
        return Curve(_pair(xs[_LEAST], values[_LEAST]), None)
    starts = np.arange(0, width, ceil(2 * width / max_points))
    values, xs = _reduce(values, starts), _reduce(xs, starts)
    # Where there was one value there is one point.
    kept = np.stack([values[_COUNT] > 0, values[_COUNT] > 1], axis=1).ravel()
    both = _pair(xs[_LEAST:].T.ravel()[kept], values[_LEAST:].T.ravel()[kept])
    middle = (xs[_LEAST] + xs[_GREATEST]) / 2
    return Curve(both, _pair(middle, values[_SUM] / values[_COUNT]))


def _pair(xs: Floats, ys: Floats) -> Pair:
    """Return numbers with no more digits than anybody can see."""
    return [float(f"{x:.12g}") for x in xs.tolist()], [float(f"{y:.7g}") for y in ys.tolist()]
