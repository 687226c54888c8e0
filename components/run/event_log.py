"""The event log of a run, newest first."""

from collections.abc import Iterable

from nicegui import ui

from components.base import EmptyState
from storage.records import EventLevel, EventRecord

_MAX_ROWS = 200


class EventLog:
    """Rows of time and text; warnings and errors in red."""

    def __init__(self) -> None:
        self._empty = EmptyState("No events yet", "Start training to see what happens.")
        with ui.element("div").props('role="log" aria-label="Events"').classes("lab-full"):
            # It scrolls, so it must be reachable by keyboard.
            self._list = ui.element("ul").classes("lab-log").props("tabindex=0")
        self._newest = 0

    def clear(self) -> None:
        """Remove all rows."""
        self._list.clear()
        self._newest = 0
        self._empty.set_visibility(True)

    def show(self, newest_first: Iterable[EventRecord]) -> None:
        """Add the events that aren't shown yet."""
        fresh = [event for event in newest_first if event.id > self._newest]
        for event in reversed(fresh):
            self._add(event)
            self._newest = event.id
        if fresh:
            self._empty.set_visibility(False)
        for old in list(self._list)[_MAX_ROWS:]:
            old.delete()

    def _add(self, event: EventRecord) -> None:
        with self._list, ui.element("li") as row:
            with ui.element("time").props(f'datetime="{event.timestamp.isoformat()}"'):
                ui.label(event.timestamp.astimezone().strftime("%H:%M"))
            text = ui.label(event.message)
            text.classes("is-loud" if event.level is not EventLevel.INFO else "")
        row.move(target_index=0)
