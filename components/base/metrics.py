"""The four numbers of a run, as cells of one card."""

from dataclasses import dataclass

from nicegui import ui

from app.catalog.environments.spec import EnvSpec
from components.base.explain import Explained, explained
from components.base.live_value import LiveText
from storage.records.runs import JsonObject

NOT_MEASURED = "-"


@dataclass(frozen=True, slots=True)
class _Cell:
    name: str
    metric: str
    decimals: int
    is_tested: bool = False
    """Whether a test measures it, too."""


_CELLS = (
    _Cell("Mean reward", "mean_reward", 1, is_tested=True),
    _Cell("Eps length", "mean_length", 1, is_tested=True),
    _Cell("Loss", "loss", 3),
    _Cell("FPS", "fps", 0),
)


class MetricCells:
    """Mean reward, episode length, loss and speed; `-` until they were measured."""

    def __init__(self) -> None:
        self._explained: list[Explained] = []
        self._names: list[ui.label] = []
        with ui.element("div").classes("lab-cells"):
            self._numbers = [self._make(cell) for cell in _CELLS]

    def show(self, latest: JsonObject, *, of_test: bool = False) -> None:
        """Show the newest values, of the training or of a test."""
        for cell, name, number in zip(_CELLS, self._names, self._numbers, strict=True):
            name.set_text(f"{cell.name}, test" if of_test and cell.is_tested else cell.name)
            number.set_text(format_number(latest.get(cell.metric), cell.decimals))

    def about(self, spec: EnvSpec) -> None:
        """Explain the numbers by this environment."""
        for sentence in self._explained:
            sentence.about(spec)

    def _make(self, cell: _Cell) -> LiveText:
        with ui.element("div").classes("lab-cell"):
            self._names.append(ui.label(cell.name).classes("lab-label"))
            number = LiveText(NOT_MEASURED).classes("lab-number").mark(cell.name)
            self._explained.append(explained(cell.metric))
            return number


def format_number(value: float | None, decimals: int = 0) -> str:
    """Return a number with fixed decimals and separators, or `-` if there is none."""
    if value is None:
        return NOT_MEASURED
    if decimals and abs(value) >= 100_000:
        return f"{value:.2e}"
    return f"{value:,.{decimals}f}"
