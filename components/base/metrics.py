"""The four key metrics of a run, as cells of one card."""

from dataclasses import dataclass

from nicegui import ui

from app.catalog.algorithms import Family
from app.catalog.environments import EnvSpec
from components.base.explain import Explained, explained
from components.base.live_value import LiveText
from storage.records import JsonObject

NOT_MEASURED = "-"


@dataclass(frozen=True, slots=True)
class _Cell:
    name: str
    metric: str
    decimals: int
    is_evaluated: bool = False
    """Whether an evaluation measures it, too."""


_CELLS = (
    _Cell("Mean reward", "mean_reward", 1, is_evaluated=True),
    _Cell("Eps length", "mean_length", 1, is_evaluated=True),
    _Cell("Loss", "loss", 3),
    _Cell("FPS", "fps", 0),
)


class MetricCells:
    """Mean reward, episode length, loss and speed; `-` until measured."""

    def __init__(self) -> None:
        self._explained: list[Explained] = []
        self._names: list[ui.label] = []
        with ui.element("div").classes("lab-cells"):
            self._numbers = [self._make(cell) for cell in _CELLS]

    def show(self, latest: JsonObject, *, of_evaluation: bool = False) -> None:
        """Show the newest values of the training or of an evaluation."""
        for cell, name, number in zip(_CELLS, self._names, self._numbers, strict=True):
            is_evaluated = of_evaluation and cell.is_evaluated
            name.set_text(f"{cell.name}, eval" if is_evaluated else cell.name)
            number.set_text(format_number(latest.get(cell.metric), cell.decimals))

    def explain_for(self, spec: EnvSpec, family: Family | None) -> None:
        """Explain the numbers for an environment and a family of algorithms."""
        for explanation in self._explained:
            explanation.explain_for(spec, family)

    def _make(self, cell: _Cell) -> LiveText:
        with ui.element("div").classes("lab-cell"):
            self._names.append(ui.label(cell.name).classes("lab-label"))
            number = LiveText(NOT_MEASURED).classes("lab-number").mark(cell.name)
            self._explained.append(explained(cell.metric))
            return number


def format_number(value: float | None, decimals: int = 0) -> str:
    """Format a number with fixed decimals and thousands separators; None is `-`."""
    if value is None:
        return NOT_MEASURED
    if decimals and abs(value) >= 100_000:
        return f"{value:.2e}"
    return f"{value:,.{decimals}f}"
