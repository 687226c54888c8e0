"""`/runs`: find, open, label, compare, archive and delete runs."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from urllib.parse import parse_qsl

from fastapi import Request
from nicegui import background_tasks, ui

from app.access import Access
from app.accounts import AccessError
from app.lab import Lab
from components.base import (
    EmptyState,
    Refusal,
    Skeleton,
    explained,
    load_content,
    panel,
    quiet_button,
)
from components.history import (
    HistoryFilters,
    HistoryView,
    ImportButton,
    PullButton,
    Row,
    RunBulk,
    RunTable,
    TableHandlers,
    entry_row,
)
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage import LabError, NotWrittenError, RunNotFoundError
from storage.records import HistoryPage, RunFilter, RunRecord

_REFRESH_EVERY_S = 1.0
_REMOVES_RUNS = frozenset({"delete", "archive", "unarchive"})
"""Actions that remove runs from the list, after which the selection is cleared."""


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/runs", response_timeout=RESPONSE_TIMEOUT_S)
    async def history_page(request: Request) -> None:
        view = HistoryView.read(request.query_params)
        with frame("Runs", lab, sandbox=await lab.sandbox()), panel("Runs", flush=True) as head:
            history = History(lab, lab.access_for(this_principal()), view, head)
        await load_content(history.refresh())


class History:
    """The page of one client: the runs of the view in its URL, and actions on them."""

    def __init__(self, lab: Lab, access: Access, view: HistoryView, head: ui.element) -> None:
        self._access = access
        self._history = lab.history
        self._view = view
        self._page: HistoryPage | None = None
        self._rows: dict[str, Row] = {}
        self._stale = asyncio.Event()
        self._problem = ""
        self._is_drawing = False
        has_owners = access.principal.user is not None
        with head, ui.element("div").classes("lab-import"):
            PullButton(access, lab.sharing.pulls)
            ImportButton(access.principal)
        self._filters = HistoryFilters(view, has_owners=has_owners, on_change=self._filtered)
        with ui.element("div").classes("lab-table-note"):
            explained("score")
        self._refusal = Refusal()
        self._bulk = RunBulk(lab.runs, access, self._refusal)
        self._skeleton = Skeleton(rows=6)
        self._table = RunTable(self._handlers(), has_owners=has_owners)
        self._table.set_visibility(False)
        self._empty_part()
        ui.timer(_REFRESH_EVERY_S, self._refresh_if_stale)
        access.run_changed.subscribe(self._mark_stale)
        lab.runs.run_deleted.subscribe(self._mark_stale)

    def _handlers(self) -> TableHandlers:
        return TableHandlers(
            sort=lambda sort: self._go(replace(self._view, sort=sort, page=1)),
            page=lambda number: self._go(replace(self._view, page=number)),
            tag=lambda tag: self._go(replace(self._view, tag=tag, page=1)),
            address=self._navigated,
            act=self._act,
        )

    def _empty_part(self) -> None:
        with ui.element("div").classes("lab-nothing") as self._empty_box:
            self._empty = EmptyState("", "")
            self._clear = quiet_button("Clear the filter", self._clear_filter)
            with ui.element("a").props('href="/train"') as self._train:
                ui.label("Train")
            self._train.classes("lab-button lab-compact lab-link lab-primary")
        self._empty_box.set_visibility(False)

    async def refresh(self) -> None:
        """Show the current runs."""
        self._stale.clear()
        seen, view = self._access.seen, self._view
        try:
            page = await self._history.page(seen(view.run_filter), sort=view.sort, number=view.page)
            facets = await self._history.facets(seen(RunFilter(archived=None)))
        except LabError as error:
            self._skeleton.remove()
            self._show_problem(f"The runs could not be read. {error}")
            self._stale.set()  # try again soon
            return
        self._show_problem("")
        if view != self._view:
            return  # A newer request replaced this one.
        # The URL may name a page beyond the last one.
        self._view = view = replace(view, page=page.number)
        owners = sorted(self._access.readers.addresses(facets.owners))
        self._filters.show(view, replace(facets, owners=tuple(owners)))
        self._filters.set_visibility(facets.run_count > 0)
        self._show(page, is_first_visit=facets.run_count == 0)

    def _show_problem(self, sentence: str) -> None:
        if sentence != self._problem:
            self._problem = sentence
            self._refusal.say(sentence)

    def _show(self, page: HistoryPage, *, is_first_visit: bool) -> None:
        self._page = page
        self._rows = {row["id"]: row for row in self._describe(page.entries)}
        self._skeleton.remove()
        self._table.show(page, list(self._rows.values()), sort=self._view.sort)
        self._table.set_visibility(bool(page.entries))
        self._empty_box.set_visibility(not page.entries)
        self._clear.set_visibility(self._view.is_filtered and not is_first_visit)
        self._train.set_visibility(is_first_visit)
        self._empty.say(*_empty_texts(self._view, is_first_visit=is_first_visit))
        without_sketch = [run for entry in page.entries for run in entry if _lacks_sketch(run)]
        if without_sketch and not self._is_drawing:
            background_tasks.create(self._draw(without_sketch), name="draw sparklines of old runs")

    async def _draw(self, runs: Sequence[RunRecord]) -> None:
        self._is_drawing = True
        with suppress(NotWrittenError, AccessError):
            for run in runs:
                with suppress(RunNotFoundError):
                    await self._history.with_sketch(await self._access.visible(run.id))
            self._stale.set()
        self._is_drawing = False

    def _describe(self, entries: Sequence[Sequence[RunRecord]]) -> list[Row]:
        return [entry_row(entry, self._user_fields) for entry in entries]

    def _user_fields(self, run: RunRecord) -> Row:
        return {
            "owner": self._access.readers.owner_of(run) or "-",
            "changes": self._access.principal.changes(run),
            "shares": self._access.readers.shared_with(run) is not None,
        }

    def _mark_stale(self, *_: object) -> None:
        """Request a refresh; several events at once cause a single one."""
        self._stale.set()

    async def _refresh_if_stale(self) -> None:
        if self._stale.is_set():
            await self.refresh()
        elif self._page is not None:
            self._update_live(self._page)

    def _update_live(self, page: HistoryPage) -> None:
        live = [e for e in page.entries if any(run.status.has_worker for run in e)]
        rows = self._describe([[self._history.fresh(run) for run in entry] for entry in live])
        changed = [row for row in rows if self._rows.get(row["id"]) != row]
        if changed:
            self._rows |= {row["id"]: row for row in changed}
            self._table.refresh(changed)

    async def _filtered(self, view: HistoryView, is_typing: bool) -> None:
        await self._go(replace(view, sort=self._view.sort), adds_entry=not is_typing)

    async def _go(self, view: HistoryView, *, adds_entry: bool = True) -> None:
        self._view = view
        write = ui.navigate.history.push if adds_entry else ui.navigate.history.replace
        write(view.address)
        await self.refresh()

    async def _navigated(self, query: str) -> None:
        self._view = HistoryView.read(dict(parse_qsl(query.removeprefix("?"))))
        await self.refresh()

    async def _clear_filter(self) -> None:
        await self._go(self._view.unfiltered)

    async def _act(self, action: str, ids: Sequence[str]) -> None:
        known = {run.id: run for entry in self._shown() for run in entry}
        runs = [known[run_id] for run_id in ids if run_id in known]
        if not runs:
            return
        if await self._bulk.act(action, runs):
            if action in _REMOVES_RUNS:
                self._table.clear_selection()
            await self.refresh()

    def _shown(self) -> Sequence[Sequence[RunRecord]]:
        return self._page.entries if self._page is not None else ()


def _lacks_sketch(run: RunRecord) -> bool:
    return run.sketch is None and run.status.is_over and run.progress.timesteps > 0


def _empty_texts(view: HistoryView, *, is_first_visit: bool) -> tuple[str, str]:
    if is_first_visit:
        return "No runs yet", "Pick an environment and press Train. Every run is kept here."
    if view.q:
        return (
            f'No run matches "{view.q}"',
            "The search covers names, environments, algorithms, tags and notes.",
        )
    if view.is_filtered:
        return "No run matches", "Relax the filter or clear it."
    return "Every run is archived", "Choose All under Archived to see them."
