"""Saved demonstration episodes."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from components.base import (
    EmptyState,
    SteadyRows,
    format_number,
    format_time,
    kilobytes,
    quiet_button,
)
from storage.records import Demonstration


class DemonstrationList:
    """A row per demonstration, with buttons to download and delete it."""

    def __init__(self, *, on_delete: Callable[[Demonstration], Awaitable[None]]) -> None:
        self._on_delete = on_delete
        self._empty = EmptyState(
            "No demonstrations yet",
            "Play an episode to its end, then save it here.",
        )
        self._list = ui.element("ul").classes("lab-kept").props('aria-label="Demonstrations"')
        self._rows = SteadyRows(self._list, self._row)

    def show(self, demonstrations: Sequence[Demonstration]) -> None:
        """Show these demonstrations."""
        self._empty.set_visibility(not demonstrations)
        self._list.set_visibility(bool(demonstrations))
        self._rows.show(demonstrations)

    def _row(self, demonstration: Demonstration) -> None:
        with ui.element("li"):
            with ui.element("div"):
                ui.label(
                    f"{format_number(demonstration.total, 1)} in {demonstration.steps:,} steps"
                ).classes("lab-name")
                pixels = "" if demonstration.has_observations else ", without pixels"
                when, size = format_time(demonstration.created_at), kilobytes(demonstration.size)
                ui.label(f"{when} · {size}{pixels}").classes("lab-small")
            with ui.element("div").classes("lab-row-actions"):
                link = ui.element("a").classes("lab-small")
                link.props(f'href="/api/demonstrations/{demonstration.id}" download')
                with link:
                    ui.label("Download").classes("lab-inline")
                label = f"the demonstration of {when}"
                quiet_button("Delete", lambda: self._on_delete(demonstration), label=label)
