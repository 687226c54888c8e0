"""The audit log: who did what when, for administrators."""

import logging
from datetime import datetime

from app.accounts.addresses import network_of
from app.accounts.errors import TooManyError
from app.accounts.limits.attempts import Attempts
from app.accounts.visitors import Visitor
from app.core.storage_thread import StorageThread
from storage.database.accounts import audit
from storage.records.accounts import AuditRecord
from storage.records.runs import JsonObject

NOBODY = "nobody"
"""Who did it where there are no accounts, or before there was one."""

_HOUR_S = 3_600

_log = logging.getLogger(__name__)


class AuditLog:
    """Adds to the log and reads it."""

    def __init__(self, storage: StorageThread) -> None:
        self._storage = storage
        # Strangers decide how often they are refused, and must not decide how long the log is.
        self._from_one_address = Attempts(30, within_s=_HOUR_S)
        self._from_everywhere = Attempts(1_000, within_s=_HOUR_S)
        self._left_out = 0

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
        """Note what somebody did who has just come in."""
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

    async def note_attempt(
        self, action: str, *, who: str, subject: str = "", address: str, reason: str
    ) -> None:
        """Note what a stranger was refused; of a flood only the beginning and, later, its size."""
        try:
            self._from_one_address.add(network_of(address))
            self._from_everywhere.add("all")
        except TooManyError:
            self._left_out += 1
            return
        data = {"reason": reason}
        await self.note_as(who, action, subject=subject, address=address, data=data)

    async def tidy(self, now: datetime) -> None:
        """Say how many attempts weren't noted, and forget what is old."""
        if count := self._left_out:
            self._left_out = 0
            await self.note_as(NOBODY, audit.LEFT_OUT, data={"count": count})
        await self._storage(audit.forget_old, now)

    async def read(self, *, before: int | None, limit: int) -> tuple[AuditRecord, ...]:
        """Return entries, newest first."""
        return await self._storage(audit.list_entries, before=before, limit=limit)
