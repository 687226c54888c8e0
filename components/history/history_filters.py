"""By what past runs are narrowed down: words, status, environment, algorithm, tag, owner."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from nicegui import ui

from components.base.buttons import compact_button
from components.history.history_view import HistoryView
from storage.records.history import Facets
from storage.records.runs import RunStatus

_INPUT = "dense outlined hide-bottom-space"
_TYPED_WITHIN_MS = 250
_ARCHIVED = {"": "Not archived", "true": "Archived", "all": "All"}


class HistoryFilters:
    """Shows what a view asks for, and tells when a person asks for something else."""

    def __init__(
        self,
        view: HistoryView,
        *,
        has_owners: bool,
        on_change: Callable[[HistoryView, bool], Awaitable[None]],
    ) -> None:
        """`on_change` also hears whether it was only typed on, which is no step to go back."""
        self._view = view
        self._on_change = on_change
        self._is_told = False
        self._box = ui.element("div").classes("lab-filters is-flush is-folded")
        with self._box.props('role="search"'):
            self._text = ui.input(placeholder="Search", value=view.q, on_change=self._typed)
            self._text.props(f"{_INPUT} clearable type=search debounce={_TYPED_WITHIN_MS}")
            self._text.props('aria-label="Search runs" data-search').classes("lab-search")
            # Where there is little room, the rest waits behind a button (see theme.css).
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
        """Show what is asked for, and what could be."""
        self._is_told = True
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
                # What is asked for is a choice even where no run has it any more.
                values = {one: one for one in (*offered[name], chosen) if one}
                options = {"": "Any"} | values
                if select.options != options:
                    select.set_options(options)
            select.set_value(chosen)
        used = sum(getattr(view, name) != "" for name in self._selects)
        self._fold.set_text(f"Filter ({used})" if used else "Filter")
        self._is_told = False

    def set_visibility(self, visible: bool) -> None:
        """Show or hide it; where nothing is, nothing is to be filtered."""
        self._box.set_visibility(visible)

    def _select(self, label: str, values: Mapping[str, str]) -> ui.select:
        options = {"": "Any"} | dict(values)
        select = ui.select(options, label=label, value="", on_change=self._chosen)
        return select.props(_INPUT).classes("lab-filter").mark(label)

    async def _typed(self) -> None:
        await self._tell(typed=True)

    async def _chosen(self) -> None:
        await self._tell(typed=False)

    async def _tell(self, *, typed: bool) -> None:
        if self._is_told:
            return
        chosen: dict[str, Any] = {n: select.value or "" for n, select in self._selects.items()}
        view = replace(self._view, q=self._text.value or "", page=1, **chosen)
        if view != replace(self._view, page=1):
            self._view = view
            await self._on_change(view, typed)
