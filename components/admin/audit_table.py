"""The audit log as a table."""

from nicegui import ui

from app.accounts import Principal
from app.accounts.users import Administration
from components.base import Refusal, Table, format_time

_PAGE_SIZE = 50
_MAX_ENTRIES = 500
_LONG = "lab-mono is-long"


class AuditTable:
    """Shows the newest entries, and older ones on request."""

    def __init__(self, administration: Administration, principal: Principal) -> None:
        self._administration = administration
        self._principal = principal
        self._count = _PAGE_SIZE
        self._table = Table("Time", "User", "Action", "Target", "Address")
        self._refusal = Refusal()
        self._more = ui.button("Show more", on_click=self._show_more, color=None)
        self._more.props("unelevated").classes("lab-button lab-quiet lab-compact lab-more")

    async def refresh(self) -> None:
        """Show the newest entries."""
        entries = await self._administration.audit(self._principal, limit=self._count + 1)
        self._more.set_visibility(len(entries) > self._count and self._count < _MAX_ENTRIES)
        self._table.body.clear()
        with self._table.body:
            for entry in entries[: self._count]:
                details = ", ".join(f"{name} {value}" for name, value in entry.data.items())
                with self._table.row():
                    self._table.text("", format_time(entry.timestamp))
                    self._table.text("User", entry.who)
                    self._table.text("Action", entry.action.replace("_", " "))
                    self._table.text("Target", _target(entry.subject, details), classes=_LONG)
                    self._table.text("Address", entry.address or "-")

    async def _show_more(self) -> None:
        self._count = min(_MAX_ENTRIES, self._count + _PAGE_SIZE)
        await self._refusal.watch(self.refresh())


def _target(subject: str, details: str) -> str:
    return " · ".join(filter(None, (subject, details))) or "-"
