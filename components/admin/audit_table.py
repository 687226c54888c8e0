"""Who did what when."""

from nicegui import ui

from app.accounts.users.administration import Administration
from app.accounts.visitors import Visitor
from components.base.refusal import Refusal
from components.base.table import Table
from components.base.times import moment

_PER_PART = 50
_MOST = 500


_LONG = "lab-mono is-long"


class AuditTable:
    """The newest entries, and more on request."""

    def __init__(self, administration: Administration, visitor: Visitor) -> None:
        self._administration = administration
        self._visitor = visitor
        self._count = _PER_PART
        self._table = Table("When", "Who", "What", "About", "From")
        self._refusal = Refusal()
        self._more = ui.button("Show more", on_click=self._show_more, color=None)
        self._more.props("unelevated").classes("lab-button lab-quiet lab-compact lab-more")

    async def refresh(self) -> None:
        """Show the newest entries."""
        found = await self._administration.audit(self._visitor, limit=self._count + 1)
        self._more.set_visibility(len(found) > self._count and self._count < _MOST)
        self._table.body.clear()
        with self._table.body:
            for entry in found[: self._count]:
                details = ", ".join(f"{name} {value}" for name, value in entry.data.items())
                with self._table.row():
                    self._table.text("", moment(entry.timestamp))
                    self._table.text("Who", entry.who)
                    self._table.text("What", entry.action.replace("_", " "))
                    self._table.text("About", _about(entry.subject, details), classes=_LONG)
                    self._table.text("From", entry.address or "-")

    async def _show_more(self) -> None:
        self._count = min(_MOST, self._count + _PER_PART)
        await self._refusal.watch(self.refresh())


def _about(subject: str, details: str) -> str:
    return " · ".join(filter(None, (subject, details))) or "-"
