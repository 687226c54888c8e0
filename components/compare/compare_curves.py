"""The curves of a comparison; the URL stores the view."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from nicegui import ui
from nicegui.events import GenericEventArguments

from app.accounts import AccessError
from app.analysis.comparison import Entry, Line
from app.catalog import GLOSSARY, explanation
from app.run_config import environment_of
from components.run import AXIS_LABELS, CHARTS
from storage import RunNotFoundError
from storage.records import CURVE_AXES, JsonObject, View, unfold

# Accessing the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

_SMOOTHING = 0.6
_FIRST_METRIC = "mean_reward"
_MAX_METRICS = 8
_MAX_POINTS = 3_000
"""Total for one metric over all lines."""
_MIN_POINTS = 200
_NOT_DRAWN = frozenset({*CURVE_AXES, "n", "t", "agents", "progress", "timestamp", "eval_timesteps"})
_ABOUT = {name: chart.about for chart in CHARTS for name in chart.names}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveView:
    """How curves are drawn, as stored in the URL."""

    metrics: Sequence[str] = (_FIRST_METRIC,)
    axis: str = CURVE_AXES[0]
    smoothing: float = _SMOOTHING
    log: bool = False
    start: float | None = None
    end: float | None = None

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "CurveView":
        """Parse the query of a URL; replace invalid values by defaults."""
        metrics = [name[:100] for name in query.get("metrics", "").split(",") if name.strip()]
        smoothing = _number(query.get("smooth"))
        axis = query.get("x", "")
        return cls(
            metrics=tuple(dict.fromkeys(metrics))[:_MAX_METRICS] or (_FIRST_METRIC,),
            axis=axis if axis in CURVE_AXES else CURVE_AXES[0],
            smoothing=_SMOOTHING if smoothing is None else min(0.98, max(0.0, smoothing)),
            log=query.get("log") == "1",
            start=_number(query.get("from")),
            end=_number(query.get("to")),
        )


class CurveSource(Protocol):
    """Provides the curves of a comparison."""

    def lines(self, entries: Sequence[Entry], view: View) -> Awaitable[list[Line]]:
        """Return the curves of entries."""

    def reach(self, entries: Sequence[Entry], axis: str) -> Awaitable[tuple[float, float]]:
        """Return the range of an axis."""


class CompareCurves(ui.element, component="compare_curves.js", dependencies=["../run/curves.js"]):
    """One chart per metric; each entry keeps its colour."""

    def __init__(self, view: CurveView, *, source: CurveSource) -> None:
        super().__init__()
        self._source = source
        self._entries: Sequence[Entry] = ()
        self._request: JsonObject = {"metrics": view.metrics}
        self._answered = 0
        self._props["axes"] = list(zip(CURVE_AXES, AXIS_LABELS, strict=True))
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
        self.on("look", self._requested)

    def show(self, entries: Sequence[Entry], colours: Mapping[str, int], against: str) -> None:
        """Draw these entries; the browser requests the part that it shows."""
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

    def set_reference(self, key: str) -> None:
        """Store the reference entry in the URL."""
        self._props["against"] = key
        self.update()

    async def refresh_live(self, entries: Sequence[Entry]) -> None:
        """Update entries that are still training."""
        self._entries = entries
        live = [entry for entry in entries if entry.is_live]
        if live and self._answered:
            await self._answer(live, is_part=True)

    async def _requested(self, event: GenericEventArguments) -> None:
        request = event.args
        if not isinstance(request, dict):
            return
        # Events sent while the page opens arrive late; newer requests may overtake them.
        if _int_or_zero(request.get("question")) >= _int_or_zero(self._request.get("question")):
            self._request = request
            await self._answer(self._entries, is_part=False)

    async def _answer(self, entries: Sequence[Entry], *, is_part: bool) -> None:
        request = self._request
        view = _view(request, self._points)
        try:
            lines = await self._source.lines(entries, view)
            extent = await self._source.reach(self._entries, view.axis)
        except (RunNotFoundError, AccessError):
            # Deleted or no longer shared: the page reports it at its next refresh.
            return
        if request is self._request:
            self._answered = _int_or_zero(request.get("question"))
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
        return max(_MIN_POINTS, _MAX_POINTS // max(2, len(self._entries)))


def _view(request: JsonObject, max_points: int) -> View:
    """Validate untrusted data from the browser."""
    axis, names = request.get("axis"), request.get("metrics")
    names = names if isinstance(names, list | tuple) else ()
    start, end = request.get("from"), request.get("to")
    return View(
        names=[str(name)[:100] for name in names][:_MAX_METRICS],
        axis=axis if axis in CURVE_AXES else CURVE_AXES[0],
        start=_finite(start),
        end=_finite(end),
        max_points=max_points,
    )


def _metrics(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """Return the metrics that any of the runs has measured."""
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
    if (first := name.partition("/")[0]) in GLOSSARY:
        return explanation(first)
    return _ABOUT.get(name) or _ABOUT.get(f"{first}/", "")


def _threshold(entries: Sequence[Entry]) -> float | None:
    """Return the solved threshold if it is the same for all entries."""
    thresholds = {
        environment_of(run).solved_threshold for entry in entries for run in entry.runs[:1]
    }
    return thresholds.pop() if len(thresholds) == 1 else None


def _number(text: str | None) -> float | None:
    try:
        return _finite(float(text or ""))
    except ValueError:
        return None


def _finite(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e18 else None  # type: ignore[arg-type]


def _int_or_zero(value: object) -> int:
    return value if isinstance(value, int) else 0
