"""The audit log: who did what when, for administrators."""

import logging
from datetime import datetime

from app.accounts import Principal, TooManyError, network_of
from app.accounts.limits import Attempts
from app.core import StorageThread
from storage.database.accounts import audit
from storage.records import AuditRecord, JsonObject

NO_USER = "nobody"
"""Actor of an entry without a user, such as an anonymous client or the server itself."""

_HOUR_S = 3_600

_log = logging.getLogger(__name__)


class AuditLog:
    """Writes and reads the audit log."""

    def __init__(self, storage: StorageThread) -> None:
        self._storage = storage
        # Unauthenticated clients control how often they are refused; they must not control the
        # size of the log.
        self._by_network = Attempts(30, within_s=_HOUR_S)
        self._overall = Attempts(1_000, within_s=_HOUR_S)
        self._omitted = 0

    async def note(
        self, principal: Principal, action: str, subject: str = "", data: JsonObject | None = None
    ) -> None:
        """Log an action of a principal."""
        user = principal.user
        who, user_id = (user.email, user.id) if user else (NO_USER, None)
        await self.note_as(
            who, action, user_id=user_id, subject=subject, address=principal.address, data=data
        )

    async def note_as(
        self,
        who: str,
        action: str,
        *,
        user_id: str | None = None,
        subject: str = "",
        address: str = "",
        data: JsonObject | None = None,
    ) -> None:
        """Log an action of an actor who is no principal (yet)."""
        _log.info("%s by %s: %s", action, ascii(who), ascii(subject))
        await self._storage(
            audit.add_entry,
            action,
            who=who,
            user_id=user_id,
            subject=subject,
            address=address,
            data=data,
        )

    async def note_attempt(
        self, action: str, *, who: str, subject: str = "", address: str, reason: str
    ) -> None:
        """Log a refused attempt; of a flood only the beginning and, in `tidy`, the number."""
        try:
            self._by_network.add(network_of(address))
            self._overall.add("all")
        except TooManyError:
            self._omitted += 1
            return
        data = {"reason": reason}
        await self.note_as(who, action, subject=subject, address=address, data=data)

    async def tidy(self, now: datetime) -> None:
        """Log how many attempts were omitted, and delete old entries."""
        if count := self._omitted:
            self._omitted = 0
            await self.note_as(NO_USER, audit.OMITTED_ATTEMPTS, data={"count": count})
        await self._storage(audit.forget_old, now)

    async def read(self, *, before: int | None, limit: int) -> tuple[AuditRecord, ...]:
        """Return entries, newest first."""
        return await self._storage(audit.list_entries, before=before, limit=limit)
