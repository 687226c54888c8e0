"""The audit log: who did what when, for administrators."""

import logging

from app.accounts.visitors import Visitor
from app.storage_thread import StorageThread
from storage import audit
from storage.account_records import AuditRecord
from storage.records import JsonObject

NOBODY = "nobody"
"""Who did it where there are no accounts, or before there was one."""

_log = logging.getLogger(__name__)


class AuditLog:
    """Adds to the log and reads it."""

    def __init__(self, storage: StorageThread) -> None:
        self._storage = storage

    async def note(
        self, visitor: Visitor, action: str, subject: str = "", data: JsonObject | None = None
    ) -> None:
        """Note what somebody did."""
        person = visitor.person
        who, person_id = (person.email, person.id) if person else (NOBODY, None)
        await self.note_as(
            who, action, person_id=person_id, subject=subject, address=visitor.address, data=data
        )

    async def note_as(
        self,
        who: str,
        action: str,
        *,
        person_id: str | None = None,
        subject: str = "",
        address: str = "",
        data: JsonObject | None = None,
    ) -> None:
        """Note what somebody did who isn't signed in."""
        _log.info("%s by %s: %s", action, ascii(who), ascii(subject))
        await self._storage(
            audit.add_entry,
            action,
            who=who,
            person_id=person_id,
            subject=subject,
            address=address,
            data=data,
        )

    async def read(self, *, before: int | None, limit: int) -> tuple[AuditRecord, ...]:
        """Return entries, newest first."""
        return await self._storage(audit.list_entries, before=before, limit=limit)
