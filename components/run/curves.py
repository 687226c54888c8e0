"""The curves of a run: all of its metrics over one axis, thinned for the window on screen."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from app.accounts.errors import AccessError
from app.catalog.environments.catalogue import environment_of_run
from app.catalog.environments.spec import ActionKind, EnvSpec
from app.run_config.preset_results import promised_scores
from app.runs.state.feed import RunFeed
from components.base.hyperparameter_field import write_value
from components.base.panel import EmptyState
from components.run.chart_list import CHARTS
from storage.errors import RunNotFoundError
from storage.records.curves import AXES, OWN_STEPS, Curves, View, unfold
from storage.records.runs import JsonObject

# Touching the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

_MAX_POINTS = 1_500
AXIS_LABELS = ("Steps", "Vectorised steps", "Updates", "Episodes", "Time")
_DIGITS = 7


NAMES = tuple(name for chart in CHARTS for name in chart.names)
"""All that is drawn."""


class CurveCharts(ui.element, component="curves.js"):
    """Draws the state of a run first and then what is new of it."""

    def __init__(self, *, look: Callable[[str, View], Awaitable[Curves]]) -> None:
        """`look` returns what a view of a run shows."""
        self._empty = EmptyState("No curve yet", "It begins with the first episode.")
        super().__init__()
        self._look = look
        self._feed: RunFeed | None = None
        self._view = View(names=NAMES, max_points=_MAX_POINTS)
        self._told: int | None = None
        """The last line that the browser knows of; None until it was told of any."""
        self._question = 0
        self._marks: list[tuple[int, str]] = []
        self._props["charts"] = [asdict(chart) for chart in CHARTS]
        self._props["axes"] = list(zip(AXES, AXIS_LABELS, strict=True))
        self._props["max-points"] = _MAX_POINTS
        self._props["turn"] = 0
        self.set_visibility(False)
        self.on("look", self._looked)

    def begin(self, feed: RunFeed | None) -> None:
        """Draw another run, or this one anew; the browser asks for the part that it shows."""
        self._feed = feed
        self._told = None
        self._props["run"] = feed.run.id if feed else ""
        self._props["run-name"] = feed.run.name if feed else ""
        self._props["turn"] += 1
        self.update()

    def show(self, feed: RunFeed | None) -> None:
        """Add what is new since the last call."""
        has_lines = feed is not None and feed.line_count > 0
        self._empty.set_visibility(not has_lines)
        if has_lines and not self.visible:
            # What the browser asked while this was hidden wasn't heard: NiceGUI ignores it.
            self.run_method("ask", 0)
        self.set_visibility(has_lines)
        if feed is None or feed is not self._feed or self._told is None:
            return
        if self._marks != (marks := _marks(feed)):
            self._marks = marks
            self.run_method("ask", 0)
        elif feed.line_count > self._told:
            self._tell_news(feed, self._told)

    def _tell_news(self, feed: RunFeed, told: int) -> None:
        lines = feed.lines_after(told)
        if lines is None:
            self.run_method("ask", 0)
            return
        self._told = feed.line_count
        if self._view.end is None and lines:
            news = _news(lines, self._view.axis)
            drawn = {name: news[name] for name in _without_copies(list(news), feed.latest)}
            self.run_method("append", drawn, lines[-1][self._view.axis])

    async def _looked(self, event: GenericEventArguments) -> None:
        """Answer what the browser wants to draw."""
        feed, asked = self._feed, event.args
        if feed is None or not isinstance(asked, dict) or asked.get("run") != feed.run.id:
            return
        question = _whole(asked.get("question"))
        if question < self._question:
            # What is asked while a page opens is sent late, and later questions overtake it.
            return
        self._question = question
        self._told = None
        self._marks = _marks(feed)
        self._view = view = _read(asked, [step for step, _ in self._marks])
        try:
            curves = await self._look(feed.run.id, view)
        except (RunNotFoundError, AccessError):
            # Deleted, or not shared any more: the rest of the page says so.
            return
        if feed is self._feed and question == self._question:
            self._told = curves.told
            self.run_method("show", {"question": question, **_answer(feed, curves, self._marks)})
            self.show(feed)


def _read(asked: JsonObject, mark_steps: Sequence[int]) -> View:
    """Take what a browser sent for what it is: anything."""
    axis = asked.get("axis")
    return View(
        names=NAMES,
        axis=axis if axis in AXES else AXES[0],
        start=_number(asked.get("from")),
        end=_number(asked.get("to")),
        max_points=_MAX_POINTS,
        mark_steps=mark_steps,
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e18 else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _answer(feed: RunFeed, curves: Curves, marks: Sequence[tuple[int, str]]) -> JsonObject:
    spec = environment_of_run(feed.run.env_id, feed.run.config.get("env_kwargs"))
    names = _without_copies(list(curves.by_name), feed.latest)
    return {
        "series": {
            name: (curves.by_name[name].points, curves.by_name[name].means) for name in names
        },
        "extent": curves.extent,
        "threshold": spec.solved_threshold,
        "actions": action_labels(spec),
        "band": promised_scores(feed.run.config),
        "marks": [(x, words) for x, (_, words) in zip(curves.marks, marks, strict=True)],
    }


def action_labels(spec: EnvSpec) -> Mapping[str, str]:
    """Return what each choice, or each part of an action, is called, where it has a name."""
    if spec.action_kind not in (ActionKind.DISCRETE, ActionKind.CONTINUOUS):
        return {}
    return {str(place): label for place, label in enumerate(spec.action_labels)}


def _without_copies(names: list[str], latest: JsonObject) -> list[str]:
    """Leave out a loss that only stands for the critic's, where there is none in one number."""
    critics = ("critic_loss", "value_loss")
    is_copy = any(latest.get(name) == latest.get("loss") for name in critics if name in names)
    return [name for name in names if name != "loss" or not is_copy]


def _news(lines: Sequence[JsonObject], axis: str) -> dict[str, tuple[list[float], list[float]]]:
    news: dict[str, tuple[list[float], list[float]]] = {}
    for line in lines:
        for name, value in unfold(line).items():
            if _is_drawn(name) and isinstance(value, int | float):
                xs, ys = news.setdefault(name, ([], []))
                own = OWN_STEPS.get(name, axis) if axis == "timesteps" else axis
                xs.append(line.get(own, line[axis]))
                ys.append(float(f"{value:.{_DIGITS}g}"))
    return news


def _is_drawn(name: str) -> bool:
    return name in NAMES or f"{name.partition('/')[0]}/" in NAMES


def _marks(feed: RunFeed) -> list[tuple[int, str]]:
    """Return where the run was changed."""
    return [
        (event.data["timesteps"], _changes(event.data["values"]))
        for event in feed.events
        if event.event_type == "changed"
    ]


def _changes(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {write_value(value)}" for name, value in values.items())
