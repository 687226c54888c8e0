"""How a run's metrics went, at any zoom: a long file is read once and thinned on the way."""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from storage.metrics.buckets import Buckets, Integers
from storage.records.curves import OWN_STEPS, Curve, Curves, View

_PIECE = 4 << 20
_TAIL = 512
_READ_AGAIN = 40_000
"""So many lines are read once more for a closer look; a wider one doesn't need them."""
_FILES = 16

_LINES = msgspec.json.Decoder(dict[str, Any])


class CurveShelf:
    """The files that were looked at lately; those that nobody looks at are forgotten."""

    def __init__(self) -> None:
        self._files: OrderedDict[Path, RunCurves] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, path: Path, view: View) -> Curves:
        """Return how things went in a view of a file."""
        with self._lock:
            curves = self._files.setdefault(path, RunCurves(path))
            self._files.move_to_end(path)
            while len(self._files) > _FILES:
                self._files.popitem(last=False)
        return curves.look(view)


class RunCurves:
    """What is remembered of one file of metrics: some megabytes, however long it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._start_over()

    def look(self, view: View) -> Curves:
        """Read what is new, and return how things went in a view."""
        with self._lock:
            self._read_on()
            known = self._buckets
            first, last = known.between(view.axis, view.start, view.end)
            seen = self._closer(first, last, view) or known.part(first, last)
            found = {name: _curve(seen, name, view) for name in known.names(view.names)}
            marks = [known.place(step, view.axis) for step in view.mark_steps]
            curves = {name: curve for name, curve in found.items() if curve is not None}
            return Curves(curves, self._told, marks, known.extent(view.axis))

    def _start_over(self) -> None:
        self._buckets = Buckets()
        self._position = self._told = 0
        self._tail = b""

    def _read_on(self) -> None:
        if not self._path.exists():
            # Its run was deleted, or has nothing to tell yet.
            self._start_over()
            return
        with self._path.open("rb") as file:
            if not self._goes_on(file):
                self._start_over()
            file.seek(self._position)
            while end := (piece := file.read(_PIECE)).rfind(b"\n") + 1:
                self._take(piece[:end])
                file.seek(self._position)

    def _goes_on(self, file: BinaryIO) -> bool:
        """Whether what was read is still there; a resumed run takes lines back and adds others."""
        file.seek(self._position - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _take(self, piece: bytes) -> None:
        lines, starts = _decode(piece)
        if lines:
            self._buckets.add(lines, starts + self._position)
            self._told = int(lines[-1]["n"])
        self._position += len(piece)
        self._tail = (self._tail + piece[-_TAIL:])[-_TAIL:]

    def _closer(self, first: int, last: int, view: View) -> Buckets | None:
        """Return the lines of a few buckets, one by one, if the buckets are too few to draw."""
        is_close = (last - first) * self._buckets.size <= _READ_AGAIN
        if self._buckets.size == 1 or last - first >= view.max_points or not is_close:
            return None
        begin, end = self._buckets.bytes(first, last)
        with self._path.open("rb") as file:
            file.seek(begin)
            piece = file.read((self._position if end is None else end) - begin)
        lines, starts = _decode(piece)
        if not lines:
            return None
        closer = Buckets(first=int(lines[0]["n"]), most=2 * _READ_AGAIN)
        closer.add(lines, starts)
        return closer


def _curve(buckets: Buckets, name: str, view: View) -> Curve | None:
    axis = OWN_STEPS.get(name, view.axis) if view.axis == "timesteps" else view.axis
    return buckets.curve(name, axis, view.max_points)


def _decode(piece: bytes) -> tuple[list[dict[str, Any]], Integers]:
    """Return the lines that can be read, and where each begins."""
    ends = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    try:
        lines = _LINES.decode_lines(piece)
    except (msgspec.MsgspecError, UnicodeError):
        lines = []
    if len(lines) == len(starts) and all(type(line.get("n")) is int for line in lines):
        return lines, starts
    # A crash or a broken disk made something else of some.
    kept = [(line, at) for at in starts.tolist() if (line := _decode_at(piece, at)) is not None]
    return [line for line, _ in kept], np.array([at for _, at in kept], dtype=np.int64)


def _decode_at(piece: bytes, at: int) -> dict[str, Any] | None:
    try:
        line = _LINES.decode(piece[at : piece.index(b"\n", at)])
    except (msgspec.MsgspecError, UnicodeError):
        return None
    return line if type(line.get("n")) is int and line["n"] > 0 else None
