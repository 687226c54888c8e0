"""Filters of past runs: text, status, environment, algorithm, tag, owner, archived."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from nicegui import ui

from components.base import compact_button
from components.history.history_view import HistoryView
from storage.records import Facets, RunStatus

_INPUT = "dense outlined hide-bottom-space"
_DEBOUNCE_MS = 250
_ARCHIVED = {"": "Not archived", "true": "Archived", "all": "All"}


class HistoryFilters:
    """Shows the filters of a view, and reports their changes."""

    def __init__(
        self,
        view: HistoryView,
        *,
        has_owners: bool,
        on_change: Callable[[HistoryView, bool], Awaitable[None]],
    ) -> None:
        """`on_change` also gets whether the user is typing, which adds no browser history entry."""
        self._view = view
        self._on_change = on_change
        self._is_updating = False
        self._box = ui.element("div").classes("lab-filters is-flush is-folded")
        with self._box.props('role="search"'):
            self._text = ui.input(placeholder="Search", value=view.q, on_change=self._typed)
            self._text.props(f"{_INPUT} clearable type=search debounce={_DEBOUNCE_MS}")
            self._text.props('aria-label="Search runs" data-search').classes("lab-search")
            # On narrow screens the other filters are folded behind a button (see theme.css).
            self._fold = compact_button("Filter", lambda: self._box.classes(toggle="is-folded"))
            self._fold.classes("lab-filter-fold")
            self._selects = {
                "status": self._select("Status", {one.value: one.value for one in RunStatus}),
                "env_id": self._select("Environment", {}),
                "algorithm": self._select("Algorithm", {}),
                "tag": self._select("Tag", {}),
                "owner": self._select("Owner", {}),
                "archived": self._select("Archived", _ARCHIVED),
            }
        self._selects["owner"].set_visibility(has_owners)
        self.show(view, Facets())

    def show(self, view: HistoryView, facets: Facets) -> None:
        """Show the current filters and the values to choose from."""
        self._is_updating = True
        self._view = view
        self._text.set_value(view.q)
        offered = {
            "env_id": facets.env_ids,
            "algorithm": facets.algorithms,
            "tag": facets.tags,
            "owner": facets.owners,
        }
        for name, select in self._selects.items():
            chosen = getattr(view, name)
            if name in offered:
                # The chosen value stays an option even if no run has it.
                values = {one: one for one in (*offered[name], chosen) if one}
                options = {"": "Any"} | values
                if select.options != options:
                    select.set_options(options)
            select.set_value(chosen)
        used = sum(getattr(view, name) != "" for name in self._selects)
        self._fold.set_text(f"Filter ({used})" if used else "Filter")
        self._is_updating = False

    def set_visibility(self, visible: bool) -> None:
        """Show or hide the filters."""
        self._box.set_visibility(visible)

    def _select(self, label: str, values: Mapping[str, str]) -> ui.select:
        options = {"": "Any"} | dict(values)
        select = ui.select(options, label=label, value="", on_change=self._chosen)
        return select.props(_INPUT).classes("lab-filter").mark(label)

    async def _typed(self) -> None:
        await self._report(is_typing=True)

    async def _chosen(self) -> None:
        await self._report(is_typing=False)

    async def _report(self, *, is_typing: bool) -> None:
        if self._is_updating:
            return
        chosen: dict[str, Any] = {n: select.value or "" for n, select in self._selects.items()}
        view = replace(self._view, q=self._text.value or "", page=1, **chosen)
        if view != replace(self._view, page=1):
            self._view = view
            await self._on_change(view, is_typing)
