"""`/compare`: runs and seed groups beside each other."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from app.access.run_access import RunAccess
from app.analysis.comparison.comparing import Comparing
from app.analysis.comparison.entries import MOST_ENTRIES, Entry, Missing, fold, read_keys, unfold
from app.core.errors import InputError
from app.lab import Lab
from app.run_config.config import RunRequest
from components.base.explain import explained
from components.base.panel import EmptyState, panel
from components.base.refusal import Refusal
from components.base.skeleton import patiently
from components.compare.compare_curves import CompareCurves, CurveView
from components.compare.compare_tables import DifferencesTable, NumbersTable, Verdicts
from components.compare.compared_runs import (
    Candidate,
    ChipHandlers,
    Chips,
    RunSearch,
    candidates,
    fold_button,
)
from components.compare.side_by_side import SideBySide
from components.run.lineage import LineagePanel
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.records.runs import RunFilter, RunRecord

_REFRESH_EVERY_S = 2.0
_SEARCHED = 60
_FOUND = 8


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/compare", response_timeout=PATIENCE_S)
    async def compare_page(request: Request) -> None:
        asked = dict(request.query_params)
        with frame("Compare", lab, sandbox=await lab.sandbox()):
            page = ComparePage(lab.trainer_for(this_visitor()), asked)
        await patiently(page.begin(asked))


class ComparePage:
    """One visit: what is compared, and everything about it."""

    def __init__(self, trainer: RunAccess, asked: Mapping[str, str]) -> None:
        self._trainer = trainer
        self._comparing = Comparing(trainer)
        self._entries: Sequence[Entry] = ()
        self._missing: Sequence[Missing] = ()
        self._colours: dict[str, int] = {}
        self._against = ""
        self._runs_part()
        with ui.element("div").classes("lab-compare") as self._results:
            self._curves_part(CurveView.read(asked))
            self._tables_part()
        self._results.set_visibility(False)
        ui.timer(_REFRESH_EVERY_S, self._go_on)
        trainer.run_deleted.subscribe(self._look_again)
        trainer.run_changed.subscribe(self._run_changed)

    async def begin(self, asked: Mapping[str, str]) -> None:
        """Show what an address names."""
        try:
            keys = read_keys(asked.get("runs", ""))
        except InputError as error:
            self._refusal.say(str(error))
            keys = read_keys(",".join(asked["runs"].split(",")[:MOST_ENTRIES]))
        self._colours = _read_colours(keys, asked.get("colours", ""))
        self._against = asked.get("against", "")
        await self._compare(keys)

    def _runs_part(self) -> None:
        with panel("Compared runs"):
            self._empty = EmptyState(
                "Nothing to compare yet",
                "Add two runs or groups of seeds below, or choose some in the list of runs.",
            )
            on = ChipHandlers(
                remove=self._remove, unfold=self._unfold, judge_against=self._judge_against
            )
            self._chips = Chips(on)
            self._fold = fold_button(self._fold_seeds)
            self._refusal = Refusal()
            with ui.element("details").classes("lab-add-run") as self._adding:
                with ui.element("summary"):
                    ui.label("Add a run").classes("lab-inline")
                self._search = RunSearch(find=self._find, on_pick=self._add)

    def _curves_part(self, view: CurveView) -> None:
        with panel("Curves"):
            self._curves = CompareCurves(view, looks=self._comparing)
            explained("compared_curves")

    def _tables_part(self) -> None:
        with panel("Side by side"):
            self._videos = SideBySide(self._trainer)
        with panel("Which is better"):
            self._verdicts = Verdicts()
            explained("probability_of_improvement")
        with panel("Final numbers", flush=True) as head:
            self._numbers = NumbersTable()
            self._numbers_link = _csv(head, "Final numbers")
        with panel("What differs", flush=True) as head:
            self._differences = DifferencesTable()
            self._differences_link = _csv(head, "What differs")
        with panel("Lineage"):
            self._lineage = LineagePanel(self._trainer, on_train=self._train)

    async def _compare(self, keys: Sequence[str]) -> None:
        """Show these runs and groups, in this order."""
        self._entries, self._missing = await self._comparing.find(keys)
        found = [entry.key for entry in self._entries]
        self._colours = _colours(found, self._colours)
        self._against = self._against if self._against in found else next(iter(found), "")
        self._show_chips()
        self._results.set_visibility(bool(found))
        self._curves.show(self._entries, self._colours, self._against)
        links = {"numbers": self._numbers_link, "differences": self._differences_link}
        for of, link in links.items():
            link.props(f'href="/api/compare/export?of={of}&runs={quote(",".join(found))}"')
        await self._judge()
        shown = [run.id for entry in self._entries for run in entry.runs[:1]]
        await self._videos.follow(self._entries, self._colours)
        await self._lineage.follow(shown, alone=False)
        await self._search.refresh()

    def _show_chips(self) -> None:
        self._empty.set_visibility(not self._entries and not self._missing)
        self._chips.show(self._entries, self._missing, self._colours, self._against)
        self._fold.set_visibility(fold(self._entries) != [entry.key for entry in self._entries])
        if len(self._entries) < 2:
            self._adding.props("open")

    async def _judge(self) -> None:
        if not self._entries:
            return
        found = await self._comparing.compare(self._entries, against=self._against)
        self._numbers.show(found, self._colours)
        self._differences.show(found, self._colours)
        self._verdicts.show(found)

    @property
    def _keys(self) -> list[str]:
        return [entry.key for entry in self._entries] + [one.key for one in self._missing]

    async def _add(self, key: str) -> None:
        if len(self._keys) >= MOST_ENTRIES:
            self._refusal.say(f"At most {MOST_ENTRIES} can be compared. Remove one first.")
            return
        await self._change([*self._keys, key])

    async def _remove(self, key: str) -> None:
        await self._change([one for one in self._keys if one != key])

    async def _unfold(self, key: str) -> None:
        keys = unfold(self._entries, key)
        if len(keys) > MOST_ENTRIES:
            self._refusal.say(f"That would be {len(keys)}; at most {MOST_ENTRIES} fit here.")
            return
        await self._change(keys)

    async def _fold_seeds(self) -> None:
        await self._change(fold(self._entries))

    async def _change(self, keys: Sequence[str]) -> None:
        self._refusal.say("")
        await self._compare(keys)

    async def _train(self, request: RunRequest) -> None:
        run = await self._trainer.create(request)
        ui.navigate.to(f"/runs/{run.id}")

    async def _judge_against(self, key: str) -> None:
        self._against = key
        self._show_chips()
        self._curves.judge_against(key)
        await self._judge()

    async def _find(self, text: str) -> Sequence[Candidate]:
        """Return runs that could be added; without words, those of the environment in sight."""
        env_id = self._entries[0].env_id if self._entries and not text else None
        wanted = RunFilter(text=text or None, env_id=env_id)
        page = await self._trainer.list(wanted, limit=_SEARCHED)
        return candidates(page.items, self._keys)[:_FOUND]

    async def _go_on(self) -> None:
        """Show what is new of runs that are still trained."""
        if not any(entry.is_live for entry in self._entries):
            return
        entries, missing = await self._comparing.find(self._keys)
        if missing and len(missing) != len(self._missing):
            await self._compare(self._keys)
            return
        self._entries = entries
        await self._curves.go_on(entries)
        await self._judge()

    async def _look_again(self, run_id: str) -> None:
        """Say so when a run in sight was deleted."""
        if any(run.id == run_id for entry in self._entries for run in entry.runs):
            await self._compare(self._keys)

    async def _run_changed(self, run: RunRecord) -> None:
        """Take up a new name, and the last numbers of a run that has ended."""
        if any(one.id == run.id for entry in self._entries for one in entry.runs):
            await self._compare(self._keys)


def _csv(head: ui.element, title: str) -> ui.element:
    with head:
        link = ui.element("a").classes("lab-tool").props(f'download aria-label="{title} as CSV"')
        with link:
            ui.label("CSV").classes("lab-inline")
    return link


def _read_colours(keys: Sequence[str], text: str) -> dict[str, int]:
    """Return the colours that an address names, so that a link looks as what was shared."""
    numbers = [int(part) for part in text.split(",") if part.isdecimal() and len(part) < 4]
    if len(numbers) != len(keys) or len(set(numbers)) != len(numbers):
        return {}
    return dict(zip(keys, numbers, strict=True))


def _colours(keys: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """Give each entry a colour; who has one keeps it, whoever else comes or goes."""
    kept = {key: known[key] for key in keys if key in known}
    free = iter(number for number in range(len(keys)) if number not in kept.values())
    return {key: kept[key] if key in kept else next(free) for key in keys}
