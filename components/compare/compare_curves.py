"""The curves of a comparison, and the address that opens the same view again."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from nicegui import ui
from nicegui.events import GenericEventArguments

from app.accounts.errors import AccessError
from app.analysis.comparison.entries import Entry
from app.analysis.comparison.lines import Line
from app.catalog.environments.catalogue import environment_of_run
from app.catalog.glossary import TERMS, explanation
from components.run.chart_list import CHARTS
from components.run.curves import AXIS_LABELS
from storage.errors import RunNotFoundError
from storage.records.curves import AXES, View, unfold
from storage.records.runs import JsonObject

# Touching the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

_SMOOTHING = 0.6
_FIRST_METRIC = "mean_reward"
_MOST_METRICS = 8
_MOST_POINTS = 3_000
"""Of one metric, over all lines."""
_LEAST_POINTS = 200
_NOT_DRAWN = frozenset({*AXES, "n", "t", "agents", "progress", "timestamp", "eval_timesteps"})
_ABOUT = {name: chart.about for chart in CHARTS for name in chart.names}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveView:
    """How curves are drawn, as an address says it."""

    metrics: Sequence[str] = (_FIRST_METRIC,)
    axis: str = AXES[0]
    smoothing: float = _SMOOTHING
    log: bool = False
    start: float | None = None
    end: float | None = None

    @classmethod
    def read(cls, asked: Mapping[str, str]) -> "CurveView":
        """Take what an address says for what it is: anything."""
        metrics = [name[:100] for name in asked.get("metrics", "").split(",") if name.strip()]
        smoothing = _number(asked.get("smooth"))
        axis = asked.get("x", "")
        return cls(
            metrics=tuple(dict.fromkeys(metrics))[:_MOST_METRICS] or (_FIRST_METRIC,),
            axis=axis if axis in AXES else AXES[0],
            smoothing=_SMOOTHING if smoothing is None else min(0.98, max(0.0, smoothing)),
            log=asked.get("log") == "1",
            start=_number(asked.get("from")),
            end=_number(asked.get("to")),
        )


class Looks(Protocol):
    """Where curves come from."""

    def lines(self, entries: Sequence[Entry], view: View) -> Awaitable[list[Line]]:
        """Return the curves of entries."""

    def reach(self, entries: Sequence[Entry], axis: str) -> Awaitable[tuple[float, float]]:
        """Return how far an axis goes."""


class CompareCurves(ui.element, component="compare_curves.js", dependencies=["../run/curves.js"]):
    """One chart per metric; each entry keeps its colour."""

    def __init__(self, view: CurveView, *, looks: Looks) -> None:
        super().__init__()
        self._looks = looks
        self._entries: Sequence[Entry] = ()
        self._asked: JsonObject = {"metrics": view.metrics}
        self._answered = 0
        self._props["axes"] = list(zip(AXES, AXIS_LABELS, strict=True))
        self._props["view"] = {
            "metrics": list(view.metrics),
            "axis": view.axis,
            "smoothing": view.smoothing,
            "log": view.log,
            "from": view.start,
            "to": view.end,
        }
        self._props["entries"] = []
        self._props["metrics"] = []
        self._props["charts"] = []
        self._props["turn"] = 0
        self.on("look", self._looked)

    def show(self, entries: Sequence[Entry], colours: Mapping[str, int], against: str) -> None:
        """Draw these entries; the browser asks for the part that it shows."""
        self._entries = entries
        self._props["entries"] = [
            {"key": entry.key, "name": entry.name, "colour": colours[entry.key]}
            for entry in entries
        ]
        self._props["against"] = against
        self._props["metrics"] = _metrics(entries)
        self._props["max-points"] = self._points
        self._props["turn"] += 1
        self.set_visibility(bool(entries))
        self.update()

    def judge_against(self, key: str) -> None:
        """Say in the address which entry the others are judged against."""
        self._props["against"] = key
        self.update()

    async def go_on(self, entries: Sequence[Entry]) -> None:
        """Draw what is new of entries that are still trained."""
        self._entries = entries
        moving = [entry for entry in entries if entry.is_live]
        if moving and self._answered:
            await self._answer(moving, is_part=True)

    async def _looked(self, event: GenericEventArguments) -> None:
        asked = event.args
        if not isinstance(asked, dict):
            return
        # What is asked while a page opens is sent late, and later questions overtake it.
        if _whole(asked.get("question")) >= _whole(self._asked.get("question")):
            self._asked = asked
            await self._answer(self._entries, is_part=False)

    async def _answer(self, entries: Sequence[Entry], *, is_part: bool) -> None:
        asked = self._asked
        view = _view(asked, self._points)
        try:
            lines = await self._looks.lines(entries, view)
            extent = await self._looks.reach(self._entries, view.axis)
        except (RunNotFoundError, AccessError):
            # Deleted, or not shared any more: the page says so when it looks again.
            return
        if asked is self._asked:
            self._answered = _whole(asked.get("question"))
            answer = {
                "question": self._answered,
                "lines": [asdict(line) for line in lines],
                "extent": extent,
                "threshold": _threshold(self._entries),
                "isPart": is_part,
            }
            self.run_method("show", answer)

    @property
    def _points(self) -> int:
        return max(_LEAST_POINTS, _MOST_POINTS // max(2, len(self._entries)))


def _view(asked: JsonObject, max_points: int) -> View:
    """Take what a browser sent for what it is: anything."""
    axis, names = asked.get("axis"), asked.get("metrics")
    names = names if isinstance(names, list | tuple) else ()
    start, end = asked.get("from"), asked.get("to")
    return View(
        names=[str(name)[:100] for name in names][:_MOST_METRICS],
        axis=axis if axis in AXES else AXES[0],
        start=_finite(start),
        end=_finite(end),
        max_points=max_points,
    )


def _metrics(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """Return what can be drawn: all that any of the runs has measured."""
    known: dict[str, Any] = {_FIRST_METRIC: 0.0}
    for entry in entries:
        for run in entry.runs:
            known.update(unfold(run.latest or {}))
    names = [name for name, value in known.items() if _is_drawn(name, value)]
    return [{"name": name, "label": _label(name), "about": _about(name)} for name in names]


def _is_drawn(name: str, value: object) -> bool:
    return name not in _NOT_DRAWN and isinstance(value, int | float)


def _label(name: str) -> str:
    return name.replace("_", " ").replace("/", " ").capitalize()


def _about(name: str) -> str:
    if (first := name.partition("/")[0]) in TERMS:
        return explanation(first)
    return _ABOUT.get(name) or _ABOUT.get(f"{first}/", "")


def _threshold(entries: Sequence[Entry]) -> float | None:
    """Return from which reward on it counts as solved, if that is the same for all."""
    found = {
        environment_of_run(run.env_id, run.config.get("env_kwargs")).solved_threshold
        for entry in entries
        for run in entry.runs[:1]
    }
    return found.pop() if len(found) == 1 else None


def _number(text: str | None) -> float | None:
    try:
        return _finite(float(text or ""))
    except ValueError:
        return None


def _finite(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e18 else None  # type: ignore[arg-type]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
