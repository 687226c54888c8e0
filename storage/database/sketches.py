"""The shape of a run's learning in a few points, kept in its row so that a list can show it."""

from collections.abc import Iterable

from storage.records.runs import JsonObject, Sketch

MOST_POINTS = 48


class Sketcher:
    """Adds to a sketch; when it is full, every two points become one, and so do those to come."""

    def __init__(self, begun: Sketch | None = None) -> None:
        self._every = 1 if begun is None else begun.every
        self._points = [] if begun is None else list(begun.points)
        self._waiting: list[tuple[int, float]] = []

    def add(self, lines: Iterable[JsonObject]) -> Sketch:
        """Draw on and return what there is now."""
        for line in lines:
            if line.get("mean_reward") is not None:
                self._waiting.append((int(line["timesteps"]), float(line["mean_reward"])))
                if len(self._waiting) >= self._every:
                    self._points.append(_middle(self._waiting))
                    self._waiting.clear()
                    self._thin()
        return self.drawn

    @property
    def drawn(self) -> Sketch:
        """What there is now."""
        return Sketch(every=self._every, points=tuple(self._points))

    def _thin(self) -> None:
        if len(self._points) >= MOST_POINTS:
            pairs = zip(self._points[::2], self._points[1::2], strict=True)
            self._points = [_middle(list(pair)) for pair in pairs]
            self._every *= 2


def sketch(lines: Iterable[JsonObject]) -> Sketch:
    """Return the shape of a whole run."""
    return Sketcher().add(lines)


def _middle(points: list[tuple[int, float]]) -> tuple[int, float]:
    """Stand for several points: at the step of the last, as high as their mean."""
    mean = sum(value for _, value in points) / len(points)
    return points[-1][0], float(f"{mean:.5g}")
