"""Charts of one test: how its returns are distributed, and what each episode brought."""

import math
from dataclasses import dataclass
from typing import Literal

from nicegui import ui

from app.catalog.environments.spec import EnvSpec, ObservationKind
from app.evaluation.evaluation import Evaluation
from components.base.buttons import quiet_button

# Touching the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

Kind = Literal["distribution", "traces", "visits"]


class EvaluationChart(ui.element, component="evaluation_chart.js"):
    """Draws the episodes of one test; the browser can save it."""

    def __init__(self, kind: Kind, label: str) -> None:
        super().__init__()
        self.figure: ui.element = self
        """What is shown or hidden with it."""
        self._props["kind"] = kind
        self._props["label"] = label
        self.classes("lab-figure-chart")

    def show(self, test: Evaluation) -> None:
        """Draw the episodes of a test."""
        self._props["returns"] = [round(score, 3) for score in test.returns]
        self._props["lengths"] = list(test.lengths)
        self._props["seeds"] = list(test.seeds)
        self._props["custom"] = test.custom_per_episode or {}
        # Last, and named after the test: that is how the browser knows it as another one.
        self._props["name"] = f"eval_{test.created_at:%Y%m%d-%H%M%S}"
        self.update()

    def show_plane(self, test: Evaluation, plane: "Plane") -> None:
        """Draw where the steps of a test were."""
        self._props["url"] = f"/api/runs/{test.run_id}/evaluations/{test.id}/replay"
        self._props["axes"] = list(plane.axes)
        self._props["columns"] = plane.columns
        self._props["states"] = plane.states
        self.show(test)


@dataclass(frozen=True, slots=True)
class Plane:
    """Two numbers that say where an agent is, or a grid of numbered states."""

    axes: tuple[str, ...]
    columns: int = 0
    states: int = 0

    @classmethod
    def of(cls, spec: EnvSpec) -> "Plane | None":
        """Return the plane on which visits can be drawn, if there is one."""
        names = tuple(component.name for component in spec.observed)
        if spec.observation_kind is ObservationKind.BOX and len(names) == 2:
            return cls(names)
        if spec.observation_kind is not ObservationKind.DISCRETE:
            return None
        states = spec.observation_shape[0]
        grids = {"FrozenLake-v1": math.isqrt(states), "FrozenLake8x8-v1": 8, "CliffWalking-v1": 12}
        columns = grids.get(spec.id)
        return None if columns is None else cls(("column", "row"), columns, states)


def chart_with_downloads(kind: Kind, title: str) -> EvaluationChart:
    """Add a titled chart with its two ways to save it."""
    with ui.element("div").classes("lab-figure") as figure:
        with ui.element("div").classes("lab-actions"):
            ui.label(title).classes("lab-label lab-grow")
            png = quiet_button("PNG", lambda: chart.run_method("png"), label=f"of {title}")
            csv = quiet_button("CSV", lambda: chart.run_method("csv"), label=f"of {title}")
        chart = EvaluationChart(kind, title)
        chart.figure = figure
    png.mark(f"png {kind}")
    csv.mark(f"csv {kind}")
    return chart
