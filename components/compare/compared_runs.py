"""The compared runs as chips, and a search to add more."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from nicegui import ui

from app.analysis.comparison import Entry, Missing
from app.run_config import environment_label
from app.runs import group_name
from components.base import SteadyRows, compact_button, format_number
from storage.records import RunRecord

SERIES = 5
"""Number of colours; further runs reuse them with dashed lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipHandlers:
    """Callbacks for the buttons of a chip; each takes the key of its entry."""

    remove: Callable[[str], Awaitable[None]]
    unfold: Callable[[str], Awaitable[None]]
    set_reference: Callable[[str], Awaitable[None]]


class Chips:
    """A chip per entry with its colour, and one per requested run that was not found."""

    def __init__(self, on: ChipHandlers) -> None:
        self._on = on
        self._references: dict[str, ui.button] = {}
        self._box = ui.element("ul").classes("lab-chips").props('aria-label="Compared runs"')
        self._rows = SteadyRows(self._box, self._draw)

    def show(
        self,
        entries: Sequence[Entry],
        missing: Sequence[Missing],
        colours: Mapping[str, int],
        against: str,
    ) -> None:
        """Show these entries and mark the reference."""
        self._box.set_visibility(bool(entries or missing))
        chips = [_Chip.of(entry, colours[entry.key]) for entry in entries]
        self._rows.show([*chips, *missing])
        for chip in chips:
            pressed = "true" if chip.key == against else "false"
            self._references[chip.key].props(f"aria-pressed={pressed}")

    def _draw(self, one: "_Chip | Missing") -> None:
        if isinstance(one, _Chip):
            self._chip(one)
        else:
            self._missing(one)

    def _chip(self, chip: "_Chip") -> None:
        with ui.element("li").classes("lab-chip"):
            dashed = " is-dashed" if chip.colour >= SERIES else ""
            series = f"is-series-{chip.colour % SERIES + 1}{dashed}"
            ui.element("i").classes(f"lab-swatch {series}").props('aria-hidden="true"')
            link = ui.element("a").props(f'href="/runs/{chip.run_id}"').classes("is-link")
            # Not with `props`, whose parser would interpret quotes in the name.
            link._props["title"] = chip.name
            with link:
                ui.label(chip.name)
            reference = self._tool("Reference", chip, self._on.set_reference)
            self._references[chip.key] = reference
            with reference:
                ui.tooltip("The other runs are compared with this one")
            if chip.is_group:
                self._tool("Expand", chip, self._on.unfold)
            self._tool("Remove", chip, self._on.remove)

    def _missing(self, one: Missing) -> None:
        with ui.element("li").classes("lab-chip is-missing"):
            ui.label(one.reason).classes("lab-error")
            button = ui.button("Remove", color=None).props("flat dense no-caps")
            button.classes("lab-tool").on_click(lambda: self._on.remove(one.key))

    @staticmethod
    def _tool(text: str, chip: "_Chip", handler: Callable[[str], Awaitable[None]]) -> ui.button:
        button = ui.button(text, on_click=lambda: handler(chip.key), color=None)
        button.props("flat dense no-caps").classes("lab-tool")
        button._props["aria-label"] = f"{text}: {chip.name}"
        return button


@dataclass(frozen=True, slots=True)
class _Chip:
    """The content of a chip, which is redrawn only if this changes."""

    key: str
    name: str
    run_id: str
    is_group: bool
    colour: int

    @classmethod
    def of(cls, entry: Entry, colour: int) -> "_Chip":
        return cls(entry.key, entry.name, entry.runs[0].id, entry.is_group, colour)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run or a group that can be added."""

    key: str
    name: str
    about: str


def candidates(runs: Sequence[RunRecord], chosen: Sequence[str]) -> list[Candidate]:
    """Return search results; several seeds of a group become one candidate."""
    groups = [run.group_id for run in runs if run.group_id is not None]
    by_key: dict[str, Candidate] = {}
    for run in runs:
        if run.group_id is not None and (count := groups.count(run.group_id)) > 1:
            name = group_name([run])
            key, about = (
                f"g:{run.group_id}",
                f"{count} seeds · {environment_label(run)} · {run.algorithm}",
            )
        else:
            score = format_number(run.score, 1)
            key, name = run.id, run.name
            about = f"{run.status} · {environment_label(run)} · {run.algorithm} · score {score}"
        if key not in chosen:
            by_key.setdefault(key, Candidate(key, name, about))
    return list(by_key.values())


class RunSearch:
    """A search field with results; a click on a result adds it."""

    def __init__(
        self,
        *,
        find: Callable[[str], Awaitable[Sequence[Candidate]]],
        on_pick: Callable[[str], Awaitable[None]],
    ) -> None:
        self._find = find
        self._on_pick = on_pick
        self._search_count = 0
        with ui.element("div").classes("lab-run-search"):
            self._text = ui.input(placeholder="Search runs to add", on_change=self.refresh)
            self._text.props(
                'dense outlined clearable debounce=200 aria-label="Search runs to add"'
            ).classes("lab-full")
            self._list = ui.element("ul").classes("lab-found").props('aria-label="Runs to add"')
            self._results = SteadyRows(self._list, self._choice)
            self._nothing = ui.label().classes("lab-small").props('role="status"')

    async def refresh(self) -> None:
        """Search again."""
        self._search_count += 1
        number, text = self._search_count, (self._text.value or "").strip()
        results = await self._find(text)
        if number != self._search_count:
            return
        none = f'No other run matches "{text[:60]}".' if text else "There are no other runs."
        self._nothing.set_text("" if results else none)
        self._results.show(results)

    def _choice(self, one: Candidate) -> None:
        async def pick() -> None:
            await self._on_pick(one.key)

        with ui.element("li"):
            button = ui.element("button").classes("lab-found-run").props('type="button"')
            button.on("click", pick)
            with button:
                ui.label(one.name).classes("lab-name")
                ui.label(one.about).classes("lab-small")


def fold_button(on_click: Callable[[], Awaitable[None]]) -> ui.button:
    """Add the button that folds seeds into their groups."""
    return compact_button("Group seeds", on_click)
