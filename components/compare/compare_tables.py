"""Tables of compared runs: results, differing settings and conclusions."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nicegui import ui

from app.analysis.comparison import (
    COMPARISON_METHOD,
    Comparison,
    Difference,
    Entry,
    Measured,
    Numbers,
    code_difference,
    has_custom_reward,
)
from components.base import NOT_MEASURED, EmptyState, Table, format_number, format_seconds_of
from components.compare.compared_runs import SERIES

_NUMBER = "lab-mono is-number"


def swatch(colour: int) -> None:
    """Add the mark of an entry's colour."""
    dashed = " is-dashed" if colour >= SERIES else ""
    swatch = ui.element("i").classes(f"lab-swatch is-series-{colour % SERIES + 1}{dashed}")
    swatch.props('aria-hidden="true"')


class CachedPart:
    """A part of the page that is redrawn only when its content changes."""

    def __init__(self) -> None:
        self._box = ui.element("div").classes("lab-compare-part")
        self._shown: object = None

    def draw(self, content: object, draw: Callable[[], Any]) -> None:
        """Call `draw` unless `content` equals what is shown."""
        if content == self._shown:
            return
        self._shown = content
        self._box.clear()
        with self._box:
            draw()


class NumbersTable:
    """A row per entry with its final numbers."""

    _TITLES = (
        *("Run", "Seeds", "Evaluation", "Best training mean", "Last training mean"),
        *("Steps", "Time", "Solved at"),
    )

    def __init__(self) -> None:
        self._part = CachedPart()

    def show(self, found: Comparison, colours: Mapping[str, int]) -> None:
        """Show the numbers of these entries."""
        names = [entry.name for entry in found.entries]
        content = (names, list(found.numbers), list(colours.items()))
        self._part.draw(content, lambda: self._draw(found, colours))

    def _draw(self, found: Comparison, colours: Mapping[str, int]) -> None:
        table = Table(*self._TITLES, numbers=self._TITLES[1:])
        with table.body:
            for entry, one in zip(found.entries, found.numbers, strict=True):
                with table.row():
                    with table.cell("", classes="is-name"), ui.element("div").classes("lab-keyed"):
                        swatch(colours[entry.key])
                        ui.label(entry.name).classes("lab-name")
                    self._cells(table, one)

    def _cells(self, table: Table, one: Numbers) -> None:
        texts = (
            str(one.seeds),
            _evaluated(one),
            measured_text(one.best),
            measured_text(one.final),
            format_number(one.timesteps),
            format_seconds_of(one.seeds, one.elapsed_s),
            _solved(one),
        )
        for title, text in zip(self._TITLES[1:], texts, strict=True):
            is_long = " is-long" if title == "Evaluation" else ""
            table.text(title, text, classes=_NUMBER + is_long)


class DifferencesTable:
    """A row per setting that differs; nothing else."""

    def __init__(self) -> None:
        self._part = CachedPart()

    def show(self, found: Comparison, colours: Mapping[str, int]) -> None:
        """Show the differing settings of these entries."""
        names = [entry.name for entry in found.entries]
        content = (names, list(found.differences), list(colours.items()))
        self._part.draw(content, lambda: self._draw(found, colours))

    def _draw(self, found: Comparison, colours: Mapping[str, int]) -> None:
        if len(found.entries) < 2:
            EmptyState("Only one run", "Add another run to compare their settings.")
            return
        if not found.differences:
            EmptyState(
                "All settings are equal", "Even the seed is the same: these runs are repetitions."
            )
            return
        with ui.element("table").classes("lab-table lab-differences"):
            self._head(found.entries, colours)
            with ui.element("tbody"):
                for one in found.differences:
                    self._row(one, found.entries)
        _reward_diffs(found.entries)

    @staticmethod
    def _head(entries: Sequence[Entry], colours: Mapping[str, int]) -> None:
        with ui.element("thead"), ui.element("tr"):
            with ui.element("th"):
                ui.label("Setting").classes("lab-label")
            for entry in entries:
                with ui.element("th"), ui.element("div").classes("lab-keyed"):
                    swatch(colours[entry.key])
                    ui.label(entry.name).classes("lab-small")

    @staticmethod
    def _row(one: Difference, entries: Sequence[Entry]) -> None:
        with ui.element("tr"):
            with ui.element("td").classes("is-name lab-mono"):
                ui.label(one.setting)
            for value, entry in zip(one.values, entries, strict=True):
                cell = ui.element("td").classes("lab-mono is-long")
                # Not with `props`, whose parser would interpret quotes in the name.
                cell._props["data-label"] = entry.name
                with cell:
                    ui.label(NOT_MEASURED if value is None else value).classes("lab-inline")


class Conclusions:
    """Conclusions about which entries are better than the reference."""

    def __init__(self) -> None:
        self._part = CachedPart()

    def show(self, found: Comparison) -> None:
        """Show the conclusions and notes of a comparison."""
        content = (list(found.conclusions), list(found.notes), len(found.entries))
        self._part.draw(content, lambda: self._draw(found))

    @staticmethod
    def _draw(found: Comparison) -> None:
        if len(found.entries) < 2:
            EmptyState("No conclusion yet", "Add a second run or, better, a second seed group.")
            return
        for note in found.notes:
            ui.label(note).classes("lab-small")
        if not found.conclusions:
            return
        with ui.element("ul").classes("lab-conclusions"):
            for one in found.conclusions:
                with ui.element("li").classes("" if one.is_told else "is-open"):
                    ui.label(one.sentence)
                    if one.agents is not None:
                        ui.label(one.agents).classes("lab-small")
        with ui.element("details").classes("lab-method"):
            with ui.element("summary"):
                ui.label("Method").classes("lab-inline")
            ui.label(COMPARISON_METHOD).classes("lab-small")


def _reward_diffs(entries: Sequence[Entry]) -> None:
    """Show diffs of the reward code between neighbouring entries."""
    if not any(map(has_custom_reward, entries)):
        return
    for before, after in pairwise(entries):
        if text := code_difference(before, after):
            with ui.element("details").classes("lab-method"):
                with ui.element("summary"):
                    ui.label(f"Reward code: {before.name} to {after.name}").classes("lab-inline")
                with ui.element("pre").classes("lab-diff").props("tabindex=0"):
                    for line in text.splitlines():
                        kind = {"+": "is-added", "-": "is-removed"}.get(line[:1], "")
                        ui.label(line).classes(kind)


def measured_text(value: Measured | None, digits: int = 1) -> str:
    """Format a number with its interval, if there is one."""
    if value is None:
        return NOT_MEASURED
    text = format_number(value.value, digits)
    if value.ci95 is None:
        return text
    low, high = (format_number(edge, digits) for edge in value.ci95)
    return f"{text} ({low} to {high})"


def _evaluated(one: Numbers) -> str:
    kind = {"final_policy": ", final policy", "periodic": ", periodic", None: ""}
    return measured_text(one.evaluation) + kind[one.evaluation_kind]


def _solved(one: Numbers) -> str:
    if one.solved_at is None:
        return NOT_MEASURED
    at = format_number(one.solved_at)
    return at if one.seeds == 1 else f"{at} ({one.solved} of {one.seeds})"
