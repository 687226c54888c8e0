"""A run's metrics: one JSON object per line, with a single writer and any number of readers."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from storage.records import JsonObject, unfold

_AXES = ("n", "t", "timesteps")
"""The keys that every downsampled line keeps, to position its points."""

_BLOCK = 1 << 16


class MetricsWriter:
    """Appends lines and numbers them from 1 without gaps."""

    def __init__(self, path: Path) -> None:
        _cut_unreadable_end(path)
        # Unbuffered: lines that could not be written must not appear later.
        self._file = path.open("ab", buffering=0)
        self.count = last_number(path)

    def append(self, lines: Iterable[JsonObject]) -> list[JsonObject]:
        """Write the lines, each with its number `n`, and return them as written.

        Raises:
            OSError: if not all can be written; then none is.
        """
        numbered: list[JsonObject] = [
            {**line, "n": n} for n, line in enumerate(lines, start=self.count + 1)
        ]
        self._write(b"".join(msgspec.json.encode(line) + b"\n" for line in numbered))
        self.count += len(numbered)
        return numbered

    def _write(self, content: bytes) -> None:
        size = self._file.seek(0, os.SEEK_END)
        left = memoryview(content)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(size)
            raise

    def close(self) -> None:
        """Flush everything to disk and close the file."""
        with self._file:
            os.fsync(self._file.fileno())


def cut_back(path: Path, keep: int) -> int:
    """Drop all lines after line `keep`, including broken ones; return the number of lines."""
    if not path.exists():
        return 0
    dropped = max(0, last_number(path) - keep)
    with path.open("rb+") as file:
        end = 0
        for raw in iter(file.readline, b""):
            number = _number(raw)
            if number is not None and number > keep:
                break
            end = file.tell() if number is not None else end
        file.truncate(end)
        os.fsync(file.fileno())
    return dropped


def each_line(path: Path) -> Iterator[JsonObject]:
    """Yield all lines that can be decoded."""
    yield from filter(None, map(_decode, _raw_lines(path)))


def read_lines(path: Path) -> list[JsonObject]:
    """Return all lines that can be decoded."""
    return list(each_line(path))


def read_columns(path: Path, names: Sequence[str]) -> list[JsonObject]:
    """Return these values of all lines that have every one; nothing else is held in memory."""
    lines = each_line(path)
    return [{name: line[name] for name in names} for line in lines if _has(line, names)]


def _has(line: JsonObject, names: Sequence[str]) -> bool:
    return all(line.get(name) is not None for name in names)


class LineReader:
    """Reads a file in parts, starting after a line, and keeps its position."""

    def __init__(self, path: Path, *, after: int) -> None:
        self._path = path
        self.number = after
        """Number of the last line that was read."""
        self._position = 0

    def read(self, limit: int) -> list[msgspec.Raw]:
        """Return up to `limit` further lines, undecoded."""
        found: list[msgspec.Raw] = []
        if not self._path.exists():
            # The run was deleted in the meantime.
            return found
        with self._path.open("rb") as file:
            file.seek(self._position)
            while len(found) < limit and (raw := file.readline()).endswith(b"\n"):
                self._position += len(raw)
                if (number := _number(raw) or 0) > self.number:
                    self.number = number
                    found.append(msgspec.Raw(raw.rstrip()))
        return found


def tail_lines(path: Path, count: int) -> list[JsonObject]:
    """Return those of the last `count` lines that can be decoded, reading from the end."""
    if count <= 0 or not path.exists():
        return []
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        data = b""
        while position > 0 and data.count(b"\n") <= count:
            step = min(_BLOCK, position)
            position = file.seek(position - step)
            data = file.read(step) + data
    whole = data[: data.rfind(b"\n") + 1].splitlines()
    return list(filter(None, map(_decode, whole[-count:])))


def last_number(path: Path) -> int:
    """Return the number of the last line that can be decoded, 0 if there is none."""
    if newest := tail_lines(path, 1):
        return int(newest[-1]["n"])
    return max((number for raw in _raw_lines(path) if (number := _number(raw))), default=0)


def count_unreadable(path: Path) -> int:
    """Return the number of damaged lines in the file."""
    return sum(_number(raw) is None for raw in _raw_lines(path))


def downsample(
    lines: Sequence[JsonObject], *, max_points: int, names: Iterable[str] | None = None
) -> list[JsonObject]:
    """Keep at most `max_points` lines of each metric: the ends, minima and maxima.

    A returned line has its axes and the metrics for which it was chosen.
    """
    chosen: dict[int, dict[str, Any]] = {}
    lines = [unfold(line) for line in lines]
    for name in names or _metric_names(lines):
        rows = [row for row, line in enumerate(lines) if _is_number(line.get(name))]
        for row in _shape(rows, [lines[row][name] for row in rows], max_points):
            line = lines[row]
            kept = chosen.setdefault(row, {key: line[key] for key in _AXES if key in line})
            kept[name] = line[name]
    return [chosen[row] for row in sorted(chosen)]


def pick(lines: Iterable[JsonObject], names: Iterable[str]) -> list[JsonObject]:
    """Reduce each line to its axes and the named metrics; drop lines without any of them."""
    wanted = list(names)
    unfolded = lines if "terms" in wanted else map(unfold, lines)
    return [
        {key: line[key] for key in (*_AXES, *wanted) if key in line}
        for line in unfolded
        if any(name in line for name in wanted)
    ]


def _shape(rows: Sequence[int], values: Sequence[float], max_points: int) -> Sequence[int]:
    """Return the rows of the ends, and of the minimum and maximum of equal parts."""
    if len(rows) <= max_points:
        return rows
    column = np.asarray(values, dtype=np.float64)
    kept = {0, len(rows) - 1}
    if (parts := (max_points - 2) // 2) == 0:
        kept.add(int(np.abs(column - column.mean()).argmax()))
    edges = np.linspace(0, len(rows), parts + 1).astype(int)
    for start, end in pairwise(edges.tolist()):
        part = column[start:end]
        kept |= {start + int(part.argmin()), start + int(part.argmax())}
    return [rows[index] for index in sorted(kept)]


def _metric_names(lines: Iterable[JsonObject]) -> list[str]:
    names = dict.fromkeys(name for line in lines for name, v in line.items() if _is_number(v))
    return [name for name in names if name not in _AXES]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Yield complete lines; skip one that is still being written."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for raw in file:
            if raw.endswith(b"\n"):
                yield raw


def _cut_unreadable_end(path: Path) -> None:
    """Truncate what a crash left after the last line that can be decoded."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = position = 0
        for raw in file:
            position += len(raw)
            if _number(raw) is not None:
                end = position
        if end < position:
            file.truncate(end)


class _Numbered(msgspec.Struct):
    """The minimal content of a line."""

    n: int


_NUMBERS = msgspec.json.Decoder(_Numbered)


def _number(raw: bytes) -> int | None:
    """Return a line's number, or None if the line is incomplete or damaged."""
    if not raw.endswith(b"\n"):
        return None
    try:
        return _NUMBERS.decode(raw).n
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _decode(raw: bytes) -> JsonObject | None:
    """Return a decoded line, or None if a crash or a disk error damaged it."""
    try:
        line: JsonObject = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeError):
        return None
    return line if isinstance(line, dict) and isinstance(line.get("n"), int) else None
