"""Curves of a run's metrics at any zoom level: a file is read once and aggregated on the way."""

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from storage.metrics.buckets import Buckets, Integers
from storage.records import OWN_STEPS, Curve, Curves, View

_PIECE = 4 << 20
_TAIL = 512
_MAX_REREAD_LINES = 40_000
"""Maximum number of lines that are reread for a zoomed view; wider views don't need them."""
_MAX_FILES = 16

_LINES = msgspec.json.Decoder(dict[str, Any])


class CurveCache:
    """Caches the curves of the most recently read files."""

    def __init__(self) -> None:
        self._files: OrderedDict[Path, RunCurves] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, path: Path, view: View) -> Curves:
        """Return the curves of a file in a view."""
        with self._lock:
            curves = self._files.setdefault(path, RunCurves(path))
            self._files.move_to_end(path)
            while len(self._files) > _MAX_FILES:
                self._files.popitem(last=False)
        return curves.read(view)


class RunCurves:
    """The aggregated contents of one metrics file: a few megabytes, regardless of its length."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._reset()

    def read(self, view: View) -> Curves:
        """Read new lines and return the curves in a view."""
        with self._lock:
            self._read_new()
            known = self._buckets
            first, last = known.between(view.axis, view.start, view.end)
            seen = self._single_lines(first, last, view) or known.part(first, last)
            found = {name: _curve(seen, name, view) for name in known.names(view.names)}
            marks = [known.place(step, view.axis) for step in view.mark_steps]
            curves = {name: curve for name, curve in found.items() if curve is not None}
            return Curves(curves, self._last_line, marks, known.extent(view.axis))

    def _reset(self) -> None:
        self._buckets = Buckets()
        self._position = self._last_line = 0
        self._tail = b""

    def _read_new(self) -> None:
        if not self._path.exists():
            # The run was deleted, or has no metrics yet.
            self._reset()
            return
        with self._path.open("rb") as file:
            if not self._is_unchanged(file):
                self._reset()
            file.seek(self._position)
            while end := (piece := file.read(_PIECE)).rfind(b"\n") + 1:
                self._add(piece[:end])
                file.seek(self._position)

    def _is_unchanged(self, file: BinaryIO) -> bool:
        """Whether the lines read so far are unchanged; a resumed run may replace lines."""
        file.seek(self._position - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _add(self, piece: bytes) -> None:
        lines, starts = _decode(piece)
        if lines:
            self._buckets.add(lines, starts + self._position)
            self._last_line = int(lines[-1]["n"])
        self._position += len(piece)
        self._tail = (self._tail + piece[-_TAIL:])[-_TAIL:]

    def _single_lines(self, first: int, last: int, view: View) -> Buckets | None:
        """Return single lines instead of buckets if the view has too few buckets to draw."""
        is_close = (last - first) * self._buckets.size <= _MAX_REREAD_LINES
        if self._buckets.size == 1 or last - first >= view.max_points or not is_close:
            return None
        begin, end = self._buckets.bytes(first, last)
        with self._path.open("rb") as file:
            file.seek(begin)
            piece = file.read((self._position if end is None else end) - begin)
        lines, starts = _decode(piece)
        if not lines:
            return None
        closer = Buckets(first=int(lines[0]["n"]), most=2 * _MAX_REREAD_LINES)
        closer.add(lines, starts)
        return closer


def _curve(buckets: Buckets, name: str, view: View) -> Curve | None:
    axis = OWN_STEPS.get(name, view.axis) if view.axis == "timesteps" else view.axis
    return buckets.curve(name, axis, view.max_points)


def _decode(piece: bytes) -> tuple[list[dict[str, Any]], Integers]:
    """Return the lines that can be decoded, with their offsets."""
    ends = np.flatnonzero(np.frombuffer(piece, dtype=np.uint8) == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    try:
        lines = _LINES.decode_lines(piece)
    except (msgspec.MsgspecError, UnicodeError):
        lines = []
    if len(lines) == len(starts) and all(type(line.get("n")) is int for line in lines):
        return lines, starts
    # A crash or a disk error damaged some lines.
    kept = [(line, at) for at in starts.tolist() if (line := _decode_at(piece, at)) is not None]
    return [line for line, _ in kept], np.array([at for _, at in kept], dtype=np.int64)


def _decode_at(piece: bytes, at: int) -> dict[str, Any] | None:
    try:
        line = _LINES.decode(piece[at : piece.index(b"\n", at)])
    except (msgspec.MsgspecError, UnicodeError):
        return None
    return line if type(line.get("n")) is int and line["n"] > 0 else None
