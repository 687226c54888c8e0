"""Charts that grow: the browser keeps the points, the server sends only new ones."""

from collections.abc import Sequence
from typing import Literal

from nicegui import ui

# Touching the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

Columns = tuple[Sequence[float], Sequence[float]]
"""The x and y values of one series."""

_MAX_POINTS = 5_000


class LiveChart(ui.element, component="live_chart.js"):
    """A chart of up to three series, as bars or as lines over timesteps."""

    def __init__(self, kind: Literal["bars", "lines"], label: str) -> None:
        super().__init__()
        self._props["kind"] = kind
        self._props["label"] = label
        self._props["max-points"] = _MAX_POINTS
        self.classes("lab-chart")

    def replace(self, *series: Columns, threshold: float | None = None) -> None:
        """Draw these points and no others."""
        self.run_method("replace", series, threshold)

    def mark_steps(self, marks: Sequence[tuple[float, str]]) -> None:
        """Draw a line with a word at each of these steps."""
        self.run_method("mark", marks)

    def append(self, *series: Columns) -> None:
        """Draw these points after those that are there."""
        self.run_method("append", series)
