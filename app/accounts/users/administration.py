"""What administrators do: people, roles, limits, who may register, invitations, the audit log."""

from datetime import UTC, datetime, timedelta
from typing import Any

from app.accounts.auth.context import Surroundings
from app.accounts.auth.secrets import digest, new_code
from app.accounts.errors import ForbiddenError, ReadOnlyTokenError, UnknownThingError
from app.accounts.requests import LabChanges, NewInvitation, PersonChanges
from app.accounts.visitors import Visitor
from app.core.events import Event
from storage.database.accounts import invitations, people, resets, sessions
from storage.records.accounts import AuditRecord, InvitationRecord, PersonRecord, Role, TokenScope

INVITATION_LASTS = timedelta(days=7)

_CODE_GROUPS = 4


class Administration:
    """Every call checks again that an administrator asks."""

    def __init__(self, around: Surroundings) -> None:
        self._storage = around.storage
        self._directory = around.directory
        self._passes = around.passes
        self._audit = around.audit
        self.limits_changed = Event[[]]()
        """Somebody may use more or less than before."""

    def people(self, visitor: Visitor) -> tuple[PersonRecord, ...]:
        """Return everybody."""
        visitor.check_admin()
        return self._directory.everybody

    async def change_person(
        self, visitor: Visitor, person_id: str, changes: PersonChanges
    ) -> PersonRecord:
        """Change what somebody may do and use; who is blocked is signed out everywhere.

        Raises:
            ForbiddenError: if a token would make an administrator.
            PersonNotFoundError: if there is nobody of this id.
            LastAdminError: if nobody would look after the lab any more.
        """
        _check(visitor)
        _check_role(visitor, changes.role)
        values = _values(changes)
        if "blocked" in values:
            values["blocked_at"] = datetime.now(UTC) if values.pop("blocked") else None
        person = await self._storage(people.change_person, person_id, **values)
        await self._take_codes(person)
        self._passes.update(self._directory.put(person))
        if values:
            await self._audit.note(visitor, "person_changed", person.email, _values(changes))
        self.limits_changed.emit()
        return person

    async def _take_codes(self, person: PersonRecord) -> None:
        """End what somebody could come back in with, or come back as an administrator."""
        if person.is_blocked:
            await self._storage(sessions.end_sessions_of, person.id)
            await self._storage(resets.forget_resets_of, person.id)
        if person.is_blocked or not person.is_admin:
            await self._storage(invitations.revoke_invitations_of, person.email)
            await self._storage(resets.forget_resets_made_by, person.email)

    async def change_lab(self, visitor: Visitor, changes: LabChanges) -> None:
        """Set who may register and what people may use."""
        _check(visitor)
        for name, value in _values(changes).items():
            await self._directory.set_rule(name, value)
        await self._audit.note(visitor, "lab_changed", data=_values(changes))
        self.limits_changed.emit()

    async def invitations(self, visitor: Visitor) -> tuple[InvitationRecord, ...]:
        """Return all invitations, newest first."""
        visitor.check_admin()
        return await self._storage(invitations.list_invitations)

    async def invite(self, visitor: Visitor, wanted: NewInvitation) -> tuple[InvitationRecord, str]:
        """Invite somebody; the second value is the code, and never to be had again.

        Raises:
            ForbiddenError: if a token would make an administrator.
        """
        _check(visitor)
        _check_role(visitor, wanted.role)
        code = new_code(_CODE_GROUPS)
        made = await self._storage(
            invitations.add_invitation,
            digest(code),
            role=wanted.role,
            email=wanted.email,
            created_by=visitor.me.email,
            expires_at=datetime.now(UTC) + INVITATION_LASTS,
        )
        await self._audit.note(visitor, "invited", wanted.email or "", {"role": wanted.role})
        return made, code

    async def revoke_invitation(self, visitor: Visitor, invitation_id: str) -> None:
        """Take an invitation back that wasn't used.

        Raises:
            UnknownThingError: if there is none.
        """
        _check(visitor)
        if not await self._storage(invitations.revoke_invitation, invitation_id):
            raise UnknownThingError("There is no unused invitation of this id.")
        await self._audit.note(visitor, "invitation_revoked", invitation_id)

    async def audit(
        self, visitor: Visitor, *, before: int | None = None, limit: int = 50
    ) -> tuple[AuditRecord, ...]:
        """Return what people did, newest first."""
        visitor.check_admin()
        return await self._audit.read(before=before, limit=limit)


def _check(visitor: Visitor) -> None:
    visitor.check_admin()
    if visitor.shown.scope is TokenScope.READ:
        raise ReadOnlyTokenError


def _check_role(visitor: Visitor, role: Role | None) -> None:
    """Who finds an administrator's token must not become one for good."""
    if visitor.shown.token_id is not None and role is Role.ADMIN:
        raise ForbiddenError("A token can't make administrators. Sign in to do it.")


def _values(changes: PersonChanges | LabChanges) -> dict[str, Any]:
    """Return what was asked for; null means something for limits and nothing for the others."""
    given = changes.model_dump(exclude_unset=True)
    nullable = {"runs_at_once", "disk_mb"}
    return {name: value for name, value in given.items() if value is not None or name in nullable}
