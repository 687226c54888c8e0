"""The table of past runs; selection, folding and keyboard navigation run in the browser."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from components.history.run_rows import Row
from storage.records import SORTABLE, HistoryPage

_ACTIONS = ("rename", "tag", "note", "archive", "unarchive", "share", "delete")
_MAX_SELECTED = 2_500
"""The number of runs on a page full of the largest groups."""


def _column(title: str, sort: str | None = None, *, descending: bool = False) -> Row:
    numbers = {"score", "timesteps", "elapsed_s"}
    return {
        "key": title,
        "title": title,
        "sort": sort,
        "descending": descending,
        "number": sort in numbers,
    }


_COLUMNS = (
    _column("Status", "status"),
    _column("Name", "name"),
    _column("Environment", "env_id"),
    _column("Algorithm", "algorithm"),
    _column("Score", "score", descending=True),
    _column("Curve"),
    _column("Steps", "timesteps", descending=True),
    _column("Time", "elapsed_s", descending=True),
    _column("Created", "created_at", descending=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHandlers:
    """Callbacks for the actions of the user."""

    sort: Callable[[str], Awaitable[None]]
    page: Callable[[int], Awaitable[None]]
    tag: Callable[[str], Awaitable[None]]
    address: Callable[[str], Awaitable[None]]
    """Takes the URL query after the user went back or forward."""
    act: Callable[[str, Sequence[str]], Awaitable[None]]
    """Takes the action and the ids of its runs."""


class RunTable(ui.element, component="run_table.js"):
    """Shows a page of runs; changed rows are sent on their own."""

    def __init__(self, handlers: TableHandlers, *, has_owners: bool) -> None:
        super().__init__()
        self._handlers = handlers
        owner = [_column("Owner")] if has_owners else []
        self._props["columns"] = [*_COLUMNS, *owner]
        self._props["owners"] = has_owners
        self._props["rows"] = []
        self.on("sort", self._sort)
        self.on("page", self._page)
        self.on("tag", self._tag)
        self.on("address", self._address)
        self.on("act", self._act)

    def show(self, page: HistoryPage, rows: Sequence[Row], *, sort: str) -> None:
        """Show a page of runs."""
        self._props["rows"] = list(rows)
        self._props["sort"] = sort
        self._props["page"] = page.number
        self._props["page-count"] = page.page_count
        self._props["entry-count"] = page.entry_count
        self._props["counted"] = _counted(page)
        self.update()

    def refresh(self, rows: Sequence[Row]) -> None:
        """Update some entries."""
        self.run_method("refresh", list(rows))

    def clear_selection(self) -> None:
        """Clear the selection."""
        self.run_method("clear")

    # The arguments below are untrusted data from the browser.

    async def _sort(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str) and event.args.removeprefix("-") in SORTABLE:
            await self._handlers.sort(event.args)

    async def _page(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int):
            await self._handlers.page(event.args)

    async def _tag(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str):
            await self._handlers.tag(event.args)

    async def _address(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str):
            await self._handlers.address(event.args)

    async def _act(self, event: GenericEventArguments) -> None:
        request: Any = event.args
        if not isinstance(request, dict) or request.get("action") not in _ACTIONS:
            return
        ids = request.get("ids")
        if isinstance(ids, list) and all(isinstance(one, str) for one in ids):
            await self._handlers.act(request["action"], ids[:_MAX_SELECTED])


def _counted(page: HistoryPage) -> str:
    runs = f"{page.run_count:,} run{'' if page.run_count == 1 else 's'}"
    if page.page_count > 1:
        return f"{page.first:,} to {page.last:,} of {page.entry_count:,} rows, {runs}"
    return runs
