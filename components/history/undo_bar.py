"""Undo for the last deletion."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from app.runs import UNDO_WITHIN_S
from components.base import quiet_button
from storage.records import RunRecord


class UndoBar:
    """Shows what was deleted last and offers to undo it, for ten seconds."""

    def __init__(self, *, on_undo: Callable[[Sequence[RunRecord]], Awaitable[None]]) -> None:
        self._on_undo = on_undo
        self._deleted: Sequence[RunRecord] = ()
        self._timer: ui.timer | None = None
        with ui.element("div").classes("lab-undo").props('role="status"') as self._bar:
            self._text = ui.label()
            quiet_button("Undo", self._undo)
        self.hide()

    def offer(self, deleted: Sequence[RunRecord]) -> None:
        """Offer to restore these runs."""
        self.hide()
        self._deleted = deleted
        what = deleted[0].name if len(deleted) == 1 else f"{len(deleted)} runs"
        self._text.set_text(f"{what} {'was' if len(deleted) == 1 else 'were'} deleted.")
        self._bar.set_visibility(True)
        with self._bar:
            self._timer = ui.timer(UNDO_WITHIN_S, self.hide, once=True, immediate=False)

    def hide(self) -> None:
        """Hide the offer."""
        self._bar.set_visibility(False)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _undo(self) -> None:
        self.hide()
        deleted, self._deleted = self._deleted, ()
        if deleted:
            await self._on_undo(deleted)
