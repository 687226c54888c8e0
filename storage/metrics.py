"""A run's metrics: one JSON object per line, appended while it trains, read by everybody else."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from tsdownsample import LTTBDownsampler

from storage.records import JsonObject

_AXES = ("n", "t", "timesteps")
"""What every downsampled line keeps, so that a point can be placed."""

_BLOCK = 1 << 16


class MetricsWriter:
    """Appends lines and numbers them 1, 2, 3 ... without gaps."""

    def __init__(self, path: Path) -> None:
        _cut_unfinished_line(path)
        self._file = path.open("ab")
        self.count = count_lines(path)

    def append(self, lines: Iterable[JsonObject]) -> list[JsonObject]:
        """Write the lines, each with its number `n` in front, and return them as written."""
        numbered: list[JsonObject] = [
            {**line, "n": n} for n, line in enumerate(lines, start=self.count + 1)
        ]
        self._file.write(b"".join(msgspec.json.encode(line) + b"\n" for line in numbered))
        self._file.flush()
        self.count += len(numbered)
        return numbered

    def close(self) -> None:
        """Make sure that everything is on disk and let go of the file."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def cut_back(path: Path, keep: int) -> int:
    """Drop all lines after the first `keep` and return how many were dropped."""
    dropped = count_lines(path) - keep
    if dropped <= 0:
        return 0
    with path.open("rb+") as file:
        for _ in range(keep):
            file.readline()
        file.truncate(file.tell())
        os.fsync(file.fileno())
    return dropped


def read_lines(path: Path) -> list[JsonObject]:
    """Return all lines."""
    return [msgspec.json.decode(raw) for raw in _raw_lines(path)]


class LineReader:
    """Reads a file piece by piece, from one line on, and remembers where it was."""

    def __init__(self, path: Path, *, after: int) -> None:
        self._path = path
        self._skip = after
        self._position = 0

    def read(self, limit: int) -> list[JsonObject]:
        """Return the next lines, at most `limit` of them."""
        found: list[JsonObject] = []
        with self._path.open("rb") as file:
            file.seek(self._position)
            while len(found) < limit and (raw := file.readline()).endswith(b"\n"):
                self._position += len(raw)
                if self._skip:
                    self._skip -= 1
                else:
                    found.append(msgspec.json.decode(raw))
        return found


def tail_lines(path: Path, count: int) -> list[JsonObject]:
    """Return the last `count` lines, reading from the end of the file."""
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
    return [msgspec.json.decode(raw) for raw in whole[-count:]]


def count_lines(path: Path) -> int:
    """Return how many whole lines the file has."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def downsample(
    lines: Sequence[JsonObject], *, max_points: int, names: Iterable[str] | None = None
) -> list[JsonObject]:
    """Keep, for each metric, the `max_points` lines that show its shape best (LTTB).

    A line of the answer carries its axes and those metrics for which it was chosen.
    """
    chosen: dict[int, dict[str, Any]] = {}
    for name in names or _metric_names(lines):
        rows = [row for row, line in enumerate(lines) if _is_number(line.get(name))]
        for row in _shape(rows, [lines[row][name] for row in rows], max_points):
            line = lines[row]
            kept = chosen.setdefault(row, {key: line[key] for key in _AXES if key in line})
            kept[name] = line[name]
    return [chosen[row] for row in sorted(chosen)]


def pick(lines: Iterable[JsonObject], names: Iterable[str]) -> list[JsonObject]:
    """Reduce each line to its axes and the metrics asked for; drop lines with none of them."""
    wanted = list(names)
    return [
        {key: line[key] for key in (*_AXES, *wanted) if key in line}
        for line in lines
        if any(name in line for name in wanted)
    ]


def _shape(rows: Sequence[int], values: Sequence[float], max_points: int) -> Sequence[int]:
    # LTTB keeps the first and the last point and needs at least one between them.
    if len(rows) <= max(max_points, 3):
        return rows
    kept = LTTBDownsampler().downsample(  # type: ignore[no-untyped-call]  # it has no types
        np.asarray(rows, dtype=np.float64),
        np.asarray(values, dtype=np.float64),
        n_out=max(max_points, 3),
    )
    return [rows[int(index)] for index in kept]


def _metric_names(lines: Iterable[JsonObject]) -> list[str]:
    names = dict.fromkeys(name for line in lines for name, v in line.items() if _is_number(v))
    return [name for name in names if name not in _AXES]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _raw_lines(path: Path) -> Iterator[bytes]:
    """Yield whole lines; what a writer hasn't finished yet isn't one."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for raw in file:
            if raw.endswith(b"\n"):
                yield raw


def _cut_unfinished_line(path: Path) -> None:
    """Drop what a crash left behind the last line end."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        size = position = file.seek(0, os.SEEK_END)
        while position > 0:
            step = min(_BLOCK, position)
            position = file.seek(position - step)
            end = file.read(step).rfind(b"\n")
            if end >= 0:
                position += end + 1
                break
        if position < size:
            file.truncate(position)
