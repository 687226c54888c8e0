"""Learning curves reduced to a few points, stored with the run so that lists can show them."""

from collections.abc import Iterable

from storage.records import JsonObject, Sketch

MAX_POINTS = 48


class Sketcher:
    """Builds a sketch incrementally; when it is full, it halves the resolution."""

    def __init__(self, initial: Sketch | None = None) -> None:
        self._every = 1 if initial is None else initial.every
        self._points = [] if initial is None else list(initial.points)
        self._waiting: list[tuple[int, float]] = []

    def add(self, lines: Iterable[JsonObject]) -> Sketch:
        """Add lines of metrics and return the sketch."""
        for line in lines:
            if line.get("mean_reward") is not None:
                self._waiting.append((int(line["timesteps"]), float(line["mean_reward"])))
                if len(self._waiting) >= self._every:
                    self._points.append(_merge(self._waiting))
                    self._waiting.clear()
                    self._thin()
        return self.current

    @property
    def current(self) -> Sketch:
        """The current sketch."""
        return Sketch(every=self._every, points=tuple(self._points))

    def _thin(self) -> None:
        if len(self._points) >= MAX_POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [_merge(list(pair)) for pair in pairs]
            self._every *= 2


def sketch(lines: Iterable[JsonObject]) -> Sketch:
    """Return the sketch of a complete run."""
    return Sketcher().add(lines)


def _merge(points: list[tuple[int, float]]) -> tuple[int, float]:
    """Merge points into one at the step of the last, with their mean."""
    mean = sum(value for _, value in points) / len(points)
    return points[-1][0], float(f"{mean:.5g}")
