"""The table of past runs: selected, folded and walked through in the browser."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from components.history.run_rows import Row
from storage.records.history import SORTABLE, HistoryPage

_ACTIONS = ("rename", "tag", "note", "archive", "unarchive", "share", "delete")
_MOST_SELECTED = 2_500
"""As many as a page of the largest groups has."""


def _column(title: str, sort: str | None = None, *, falls: bool = False) -> Row:
    numbers = {"score", "timesteps", "elapsed_s"}
    return {
        "key": title,
        "title": title,
        "sort": sort,
        "falls": falls,
        "number": sort in numbers,
    }


_COLUMNS = (
    _column("Status", "status"),
    _column("Name", "name"),
    _column("Environment", "env_id"),
    _column("Algorithm", "algorithm"),
    _column("Score", "score", falls=True),
    _column("Curve"),
    _column("Steps", "timesteps", falls=True),
    _column("Time", "elapsed_s", falls=True),
    _column("Created", "created_at", falls=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Who is told when a person wants something of the table."""

    sort: Callable[[str], Awaitable[None]]
    page: Callable[[int], Awaitable[None]]
    tag: Callable[[str], Awaitable[None]]
    address: Callable[[str], Awaitable[None]]
    """The person went back or forth to an address."""
    act: Callable[[str, Sequence[str]], Awaitable[None]]
    """What is to be done, and with which runs."""


class RunTable(ui.element, component="run_table.js"):
    """Draws a page of runs; what moves is sent by itself."""

    def __init__(self, wishes: Wishes, *, has_owners: bool) -> None:
        super().__init__()
        self._wishes = wishes
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
        """Show another page, or this one as it is now."""
        self._props["rows"] = list(rows)
        self._props["sort"] = sort
        self._props["page"] = page.number
        self._props["page-count"] = page.page_count
        self._props["entry-count"] = page.entry_count
        self._props["counted"] = _counted(page)
        self.update()

    def refresh(self, rows: Sequence[Row]) -> None:
        """Show new numbers of some entries."""
        self.run_method("refresh", list(rows))

    def clear_selection(self) -> None:
        """Select nothing."""
        self.run_method("clear")

    # Everything below comes from a browser and may be anything.

    async def _sort(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str) and event.args.removeprefix("-") in SORTABLE:
            await self._wishes.sort(event.args)

    async def _page(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, int):
            await self._wishes.page(event.args)

    async def _tag(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str):
            await self._wishes.tag(event.args)

    async def _address(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, str):
            await self._wishes.address(event.args)

    async def _act(self, event: GenericEventArguments) -> None:
        asked: Any = event.args
        if not isinstance(asked, dict) or asked.get("what") not in _ACTIONS:
            return
        ids = asked.get("ids")
        if isinstance(ids, list) and all(isinstance(one, str) for one in ids):
            await self._wishes.act(asked["what"], ids[:_MOST_SELECTED])


def _counted(page: HistoryPage) -> str:
    runs = f"{page.run_count:,} run{'' if page.run_count == 1 else 's'}"
    if page.page_count > 1:
        return f"{page.first:,} to {page.last:,} of {page.entry_count:,} rows, {runs}"
    return runs
