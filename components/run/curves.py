"""The curves of a run: all of its metrics over one axis, downsampled for the visible window."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from app.access import Access
from app.accounts import AccessError
from app.catalog.environments import ActionKind, EnvSpec
from app.core import write_value
from app.run_config import environment_of, expected_scores, readable_config
from app.runs import RunService
from app.runs.state import RunFeed
from components.base import EmptyState
from components.run.chart_list import CHARTS
from storage import RunNotFoundError
from storage.records import CURVE_AXES, OWN_STEPS, Curves, JsonObject, View, unfold

# Accessing the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

_MAX_POINTS = 1_500
AXIS_LABELS = ("Steps", "Vectorized steps", "Updates", "Episodes", "Time")
_DIGITS = 7


NAMES = tuple(name for chart in CHARTS for name in chart.names)
"""The metrics that are drawn."""


class CurveCharts(ui.element, component="curves.js"):
    """Draws all points of a run first and then appends new ones."""

    def __init__(self, runs: RunService, access: Access) -> None:
        self._empty = EmptyState("No curve yet", "Curves start with the first episode.")
        super().__init__()
        self._runs = runs
        self._access = access
        self._feed: RunFeed | None = None
        self._view = View(names=NAMES, max_points=_MAX_POINTS)
        self._sent: int | None = None
        """The last line that was sent to the browser; None before the first one."""
        self._newest_request_id = 0
        self._marks: list[tuple[int, str]] = []
        self._props["charts"] = [asdict(chart) for chart in CHARTS]
        self._props["axes"] = list(zip(CURVE_AXES, AXIS_LABELS, strict=True))
        self._props["max-points"] = _MAX_POINTS
        self._props["turn"] = 0
        self.set_visibility(False)
        self.on("look", self._answer_look)

    def begin(self, feed: RunFeed | None) -> None:
        """Draw another run, or redraw this one; the browser requests the window that it shows."""
        self._feed = feed
        self._sent = None
        self._props["run"] = feed.run.id if feed else ""
        self._props["run-name"] = feed.run.name if feed else ""
        self._props["turn"] += 1
        self.update()

    def show(self, feed: RunFeed | None) -> None:
        """Append the points since the last call."""
        has_lines = feed is not None and feed.line_count > 0
        self._empty.set_visibility(not has_lines)
        if has_lines and not self.visible:
            # NiceGUI ignores events of hidden elements, so the browser must ask again.
            self.run_method("ask", 0)
        self.set_visibility(has_lines)
        if feed is None or feed is not self._feed or self._sent is None:
            return
        if self._marks != (marks := _marks(feed)):
            self._marks = marks
            self.run_method("ask", 0)
        elif feed.line_count > self._sent:
            self._append(feed, self._sent)

    def _append(self, feed: RunFeed, sent: int) -> None:
        lines = feed.lines_after(sent)
        if lines is None:
            self.run_method("ask", 0)
            return
        self._sent = feed.line_count
        if self._view.end is None and lines:
            points = _new_points(lines, self._view.axis)
            drawn = {name: points[name] for name in _without_copies(list(points), feed.latest)}
            self.run_method("append", drawn, lines[-1][self._view.axis])

    async def _answer_look(self, event: GenericEventArguments) -> None:
        """Send the points of the window that the browser requests."""
        feed, request = self._feed, event.args
        if feed is None or not isinstance(request, dict) or request.get("run") != feed.run.id:
            return
        request_id = _integer(request.get("question"))
        if request_id < self._newest_request_id:
            # Requests made while a page opens are sent late, and later ones overtake them.
            return
        self._newest_request_id = request_id
        self._sent = None
        self._marks = _marks(feed)
        self._view = view = _view_of(request, [step for step, _ in self._marks])
        try:
            curves = await self._runs.curves(await self._access.visible(feed.run.id), view)
        except (RunNotFoundError, AccessError):
            # Deleted, or no longer shared: the rest of the page shows that.
            return
        if feed is self._feed and request_id == self._newest_request_id:
            self._sent = curves.last_line
            self.run_method("show", {"question": request_id, **_answer(feed, curves, self._marks)})
            self.show(feed)


def _view_of(request: JsonObject, mark_steps: Sequence[int]) -> View:
    """Parse a request of the browser, which is untrusted data."""
    axis = request.get("axis")
    return View(
        names=NAMES,
        axis=axis if axis in CURVE_AXES else CURVE_AXES[0],
        start=_number(request.get("from")),
        end=_number(request.get("to")),
        max_points=_MAX_POINTS,
        mark_steps=mark_steps,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e18 else None


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _answer(feed: RunFeed, curves: Curves, marks: Sequence[tuple[int, str]]) -> JsonObject:
    spec, config = environment_of(feed.run), readable_config(feed.run)
    names = _without_copies(list(curves.by_name), feed.latest)
    return {
        "series": {
            name: (curves.by_name[name].points, curves.by_name[name].means) for name in names
        },
        "extent": curves.extent,
        "threshold": spec.solved_threshold,
        "actions": action_labels(spec),
        "band": expected_scores(config) if config else None,
        "marks": [(x, text) for x, (_, text) in zip(curves.marks, marks, strict=True)],
    }


def action_labels(spec: EnvSpec) -> Mapping[str, str]:
    """Return the names of the discrete actions or of the action components, if known."""
    if spec.action_kind not in (ActionKind.DISCRETE, ActionKind.CONTINUOUS):
        return {}
    return {str(place): label for place, label in enumerate(spec.action_labels)}


def _without_copies(names: list[str], latest: JsonObject) -> list[str]:
    """Leave out `loss` if it only repeats the critic's loss."""
    critics = ("critic_loss", "value_loss")
    is_copy = any(latest.get(name) == latest.get("loss") for name in critics if name in names)
    return [name for name in names if name != "loss" or not is_copy]


def _new_points(
    lines: Sequence[JsonObject], axis: str
) -> dict[str, tuple[list[float], list[float]]]:
    points: dict[str, tuple[list[float], list[float]]] = {}
    for line in lines:
        for name, value in unfold(line).items():
            if _is_drawn(name) and isinstance(value, int | float):
                xs, ys = points.setdefault(name, ([], []))
                own = OWN_STEPS.get(name, axis) if axis == "timesteps" else axis
                xs.append(line.get(own, line[axis]))
                ys.append(float(f"{value:.{_DIGITS}g}"))
    return points


def _is_drawn(name: str) -> bool:
    return name in NAMES or f"{name.partition('/')[0]}/" in NAMES


def _marks(feed: RunFeed) -> list[tuple[int, str]]:
    """Return the steps at which the run was changed, with the new values."""
    return [
        (event.data["timesteps"], _changes_text(event.data["values"]))
        for event in feed.events
        if event.event_type == "changed"
    ]


def _changes_text(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {write_value(value)}" for name, value in values.items())
