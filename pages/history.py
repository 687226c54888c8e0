"""`/runs`: every run there is, to find, open, label, compare, put away and delete."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import parse_qsl

from fastapi import Request
from nicegui import background_tasks, ui

from app.access.run_access import RunAccess
from app.lab import Lab
from components.base.buttons import quiet_button
from components.base.explain import explained
from components.base.panel import EmptyState, panel
from components.base.refusal import Refusal
from components.base.skeleton import Skeleton, patiently
from components.history.history_filters import HistoryFilters
from components.history.history_view import HistoryView
from components.history.import_button import ImportButton
from components.history.pull_button import PullButton
from components.history.run_bulk import RunBulk
from components.history.run_rows import Row, entry_row
from components.history.run_table import RunTable, Wishes
from pages.layout import PATIENCE_S, frame
from pages.visiting import this_visitor
from storage.errors import LabError, NotWrittenError
from storage.records.history import HistoryPage
from storage.records.runs import RunRecord

_REFRESH_EVERY_S = 1.0
_AT_MOST_EVERY_S = 0.5
_TAKES_AWAY = frozenset({"delete", "archive", "unarchive"})
"""What takes runs off the list, so that they can't stay selected."""


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/runs", response_timeout=PATIENCE_S)
    async def history_page(request: Request) -> None:
        view = HistoryView.read(request.query_params)
        with frame("Runs", lab, sandbox=await lab.sandbox()), panel("Runs", flush=True) as head:
            history = History(lab.trainer_for(this_visitor()), view, head)
        await patiently(history.refresh())


class History:
    """One visit: a view of past runs, which its address says, and what is done with them."""

    def __init__(self, trainer: RunAccess, view: HistoryView, head: ui.element) -> None:
        self._trainer = trainer
        self._view = view
        self._page: HistoryPage | None = None
        self._rows: dict[str, Row] = {}
        self._has_news = asyncio.Event()
        self._trouble = ""
        self._is_drawing = False
        has_owners = trainer.visitor.person is not None
        with head, ui.element("div").classes("lab-import"):
            PullButton(trainer.visitor, trainer.sharing)
            ImportButton(trainer.visitor)
        self._filters = HistoryFilters(view, has_owners=has_owners, on_change=self._filtered)
        with ui.element("div").classes("lab-beside"):
            explained("score")
        self._refusal = Refusal()
        self._bulk = RunBulk(trainer, self._refusal)
        self._skeleton = Skeleton(rows=6)
        self._table = RunTable(self._wishes(), has_owners=has_owners)
        self._table.set_visibility(False)
        self._nothing_part()
        ui.timer(_REFRESH_EVERY_S, self._show_news)
        trainer.run_changed.subscribe(self._note_news)
        trainer.run_deleted.subscribe(self._note_news)

    def _wishes(self) -> Wishes:
        return Wishes(
            sort=lambda sort: self._go(replace(self._view, sort=sort, page=1)),
            page=lambda number: self._go(replace(self._view, page=number)),
            tag=lambda tag: self._go(replace(self._view, tag=tag, page=1)),
            address=self._gone_to,
            act=self._act,
        )

    def _nothing_part(self) -> None:
        with ui.element("div").classes("lab-nothing") as self._nothing:
            self._empty = EmptyState("", "")
            self._clear = quiet_button("Clear the filter", self._show_everything)
            with ui.element("a").props('href="/train"') as self._train:
                ui.label("Train")
            self._train.classes("lab-button lab-compact lab-link lab-primary")
        self._nothing.set_visibility(False)

    async def refresh(self) -> None:
        """Show the runs as they are now."""
        self._has_news.clear()
        history, view = self._trainer.history, self._view
        try:
            page = await history.page(view.wanted, sort=view.sort, number=view.page)
            facets = await history.facets()
        except LabError as error:
            self._skeleton.remove()
            self._say_trouble(f"The runs could not be read. {error}")
            self._has_news.set()  # to be read as soon as they can be
            return
        self._say_trouble("")
        if view != self._view:
            return  # Somebody asked for something else meanwhile, and that is on its way.
        # An address may name a page that is no more.
        self._view = view = replace(view, page=page.number)
        self._filters.show(view, facets)
        self._filters.set_visibility(facets.run_count > 0)
        self._show(page, is_first_visit=facets.run_count == 0)

    def _say_trouble(self, sentence: str) -> None:
        if sentence != self._trouble:
            self._trouble = sentence
            self._refusal.say(sentence)

    def _show(self, page: HistoryPage, *, is_first_visit: bool) -> None:
        self._page = page
        self._rows = {row["id"]: row for row in self._describe(page.entries)}
        self._skeleton.remove()
        self._table.show(page, list(self._rows.values()), sort=self._view.sort)
        self._table.set_visibility(bool(page.entries))
        self._nothing.set_visibility(not page.entries)
        self._clear.set_visibility(self._view.is_filtered and not is_first_visit)
        self._train.set_visibility(is_first_visit)
        self._empty.say(*_nothing_words(self._view, is_first_visit=is_first_visit))
        undrawn = [run for entry in page.entries for run in entry if _is_undrawn(run)]
        if undrawn and not self._is_drawing:
            background_tasks.create(self._draw(undrawn), name="draw the shapes of old runs")

    async def _draw(self, runs: Sequence[RunRecord]) -> None:
        self._is_drawing = True
        with suppress(NotWrittenError):
            for run in runs:
                await self._trainer.history.draw(run)
            self._has_news.set()
        self._is_drawing = False

    def _describe(self, entries: Sequence[Sequence[RunRecord]]) -> list[Row]:
        return [entry_row(entry, self._words) for entry in entries]

    def _words(self, run: RunRecord) -> Row:
        return {
            "owner": self._trainer.owner_of(run) or "-",
            "changes": self._trainer.visitor.changes(run),
            "shares": self._trainer.readers_of(run) is not None,
        }

    def _note_news(self, *_: object) -> None:
        """Runs were made, changed or deleted; several at once are read once."""
        self._has_news.set()

    async def _show_news(self) -> None:
        if self._has_news.is_set():
            await self.refresh()
        elif self._page is not None:
            self._show_moving(self._page)

    def _show_moving(self, page: HistoryPage) -> None:
        moving = [e for e in page.entries if any(run.status.has_worker for run in e)]
        rows = self._describe([self._trainer.history.fresh(entry) for entry in moving])
        changed = [row for row in rows if self._rows.get(row["id"]) != row]
        if changed:
            self._rows |= {row["id"]: row for row in changed}
            self._table.refresh(changed)

    async def _filtered(self, view: HistoryView, typed: bool) -> None:
        await self._go(replace(view, sort=self._view.sort), is_step=not typed)

    async def _go(self, view: HistoryView, *, is_step: bool = True) -> None:
        self._view = view
        write = ui.navigate.history.push if is_step else ui.navigate.history.replace
        write(view.address)
        await self.refresh()

    async def _gone_to(self, query: str) -> None:
        self._view = HistoryView.read(dict(parse_qsl(query.removeprefix("?"))))
        await self.refresh()

    async def _show_everything(self) -> None:
        await self._go(self._view.everything)

    async def _act(self, what: str, ids: Sequence[str]) -> None:
        known = {run.id: run for entry in self._shown() for run in entry}
        runs = [known[run_id] for run_id in ids if run_id in known]
        if not runs:
            return
        if await self._bulk.act(what, runs):
            if what in _TAKES_AWAY:
                self._table.clear_selection()
            await self.refresh()

    def _shown(self) -> Sequence[Sequence[RunRecord]]:
        return self._page.entries if self._page is not None else ()


def _is_undrawn(run: RunRecord) -> bool:
    return run.sketch is None and run.status.is_over and run.progress.timesteps > 0


def _nothing_words(view: HistoryView, *, is_first_visit: bool) -> tuple[str, str]:
    if is_first_visit:
        return "No runs yet", "Pick an environment and press Train. What comes of it is kept here."
    if view.q:
        return (
            f'No run matches "{view.q}"',
            "Names, environments, algorithms, tags and notes count.",
        )
    if view.is_filtered:
        return "No run matches", "Ask for less, or clear the filter."
    return "Every run is archived", "Choose All under Archived to see them."
