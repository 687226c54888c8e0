"""Charts of one evaluation: distribution of returns, results by episode, visited states."""

import math
from dataclasses import dataclass
from typing import Literal

from nicegui import ui

from app.catalog.environments import EnvSpec, ObservationKind
from app.evaluation import Evaluation
from components.base import quiet_button

# Accessing the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

Kind = Literal["distribution", "traces", "visits"]


class EvaluationChart(ui.element, component="evaluation_chart.js"):
    """Draws the episodes of one evaluation; the browser can save the chart."""

    def __init__(self, kind: Kind, label: str) -> None:
        super().__init__()
        self.figure: ui.element = self
        """The element to show or hide together with the chart."""
        self._props["kind"] = kind
        self._props["label"] = label
        self.classes("lab-figure-chart")

    def show(self, evaluation: Evaluation) -> None:
        """Draw the episodes of an evaluation."""
        self._props["returns"] = [round(score, 3) for score in evaluation.returns]
        self._props["lengths"] = list(evaluation.lengths)
        self._props["seeds"] = list(evaluation.seeds)
        self._props["custom"] = evaluation.custom_per_episode or {}
        # Set last: the browser reloads the data when the name changes.
        self._props["name"] = f"eval_{evaluation.created_at:%Y%m%d-%H%M%S}"
        self.update()

    def show_plane(self, evaluation: Evaluation, plane: "Plane") -> None:
        """Draw which parts of a plane an evaluation visited."""
        self._props["url"] = f"/api/runs/{evaluation.run_id}/evaluations/{evaluation.id}/replay"
        self._props["axes"] = list(plane.axes)
        self._props["columns"] = plane.columns
        self._props["states"] = plane.states
        self.show(evaluation)


@dataclass(frozen=True, slots=True)
class Plane:
    """Two observed components, or a grid of numbered states, that locate the agent."""

    axes: tuple[str, ...]
    columns: int = 0
    states: int = 0

    @classmethod
    def of(cls, spec: EnvSpec) -> "Plane | None":
        """Return the plane on which visits can be drawn, if any."""
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
    """Add a titled chart with buttons that save it as PNG and CSV."""
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
