"""Methods compared over several environments: aggregates, profiles, and scores by environment."""

from collections.abc import Mapping, Sequence

from nicegui import ui

from app.analysis.comparison import AcrossTasks, MethodResult
from components.base import EmptyState, Table, format_number
from components.compare.compare_tables import CachedPart, measured_text, swatch

# Accessing the built-in chart registers the ECharts module that the script imports.
_ECHARTS = ui.echart

_NUMBER = "lab-mono is-number is-long"
_AGGREGATES = ("Method", "Runs", "IQM", "Median", "Mean", "Optimality gap", "Area under curve")


_RULE = (
    "0 is the score of random actions, 1 the reference. Entries of the same algorithm, preset and "
    "name (without environment and seed) are one method. The intervals are those of rliable, by a "
    "percentile bootstrap of the runs."
)


class ProfileChart(ui.element, component="profile_chart.js", dependencies=["../run/curves.js"]):
    """Draws the share of runs above each normalized score, a line per method."""

    def __init__(self, found: AcrossTasks, colours: Mapping[str, int]) -> None:
        super().__init__()
        self._props["label"] = "Performance profiles"
        self._props["taus"] = list(found.taus)
        self._props["profiles"] = [
            {
                "name": method.name,
                "shares": list(method.profile),
                "colour": colours[method.keys[0]],
            }
            for method in found.methods
        ]
        self.classes("lab-profile-chart")


class AcrossEnvironments:
    """The panel's content; it is redrawn only when the results change."""

    def __init__(self) -> None:
        self._part = CachedPart()

    def show(self, found: AcrossTasks, colours: Mapping[str, int]) -> None:
        """Show the aggregates of methods and what was omitted.

        A method has the colour of its first entry.
        """
        content = (found, list(colours.items()))
        self._part.draw(content, lambda: self._draw(found, colours))

    def _draw(self, found: AcrossTasks, colours: Mapping[str, int]) -> None:
        for note in (_RULE, *found.notes):
            ui.label(note).classes("lab-small")
        if not found.methods:
            EmptyState(
                "No method on two environments",
                "Add runs of the same algorithm, preset and name on another environment.",
            )
            return
        self._aggregates(found.methods, colours)
        ui.label("Performance profiles").classes("lab-label")
        ProfileChart(found, colours)
        self._by_environment(found)

    @staticmethod
    def _aggregates(methods: Sequence[MethodResult], colours: Mapping[str, int]) -> None:
        table = Table(*_AGGREGATES, numbers=_AGGREGATES[1:])
        with table.body:
            for one in methods:
                with table.row():
                    _method_cell(table, colours[one.keys[0]], one.name)
                    values = (one.iqm, one.median, one.mean, one.optimality_gap, one.area)
                    texts = (str(one.runs), *(measured_text(value, 2) for value in values))
                    for title, text in zip(_AGGREGATES[1:], texts, strict=True):
                        table.text(title, text, classes=_NUMBER)

    @staticmethod
    def _by_environment(found: AcrossTasks) -> None:
        names = [method.name for method in found.methods]
        titles = ("Environment", "0 is random", "1 is the reference", "Compared", *names)
        table = Table(*titles, numbers=titles[1:])
        with table.body:
            for task in found.tasks:
                with table.row():
                    table.text("Environment", task.env_id, classes="is-name")
                    reference = f"{format_number(task.reference, 1)}, {task.source}"
                    table.text(titles[1], format_number(task.random, 1), classes=_NUMBER)
                    table.text(titles[2], reference, classes=_NUMBER)
                    compared = f"{task.score_kind.label}, step {task.timesteps:,}"
                    table.text(titles[3], compared, classes=_NUMBER)
                    for method in found.methods:
                        table.text(method.name, _score(method, task.env_id), classes=_NUMBER)


def _method_cell(table: Table, colour: int, name: str) -> None:
    with table.cell("", classes="is-name"), ui.element("div").classes("lab-keyed"):
        swatch(colour)
        ui.label(name).classes("lab-name")


def _score(method: MethodResult, env_id: str) -> str:
    """Format a normalized score and the score itself."""
    normalized, score = method.normalized[env_id], method.scores[env_id]
    return f"{format_number(normalized, 2)} ({format_number(score, 1)})"
