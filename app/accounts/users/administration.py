"""Administration: users, roles, limits, registration, invitations, the audit log."""

from datetime import UTC, datetime, timedelta
from typing import Any

from app.accounts import (
    ForbiddenError,
    LabChanges,
    NewInvitation,
    Principal,
    ReadOnlyTokenError,
    UnknownThingError,
    UserChanges,
)
from app.accounts.auth import AccountServices, digest, new_code
from app.core.events import Event
from storage.database.accounts import invitations, password_resets, sessions, users
from storage.records import AuditRecord, InvitationRecord, Role, TokenScope, UserRecord

INVITATION_LASTS = timedelta(days=7)

_CODE_GROUPS = 4


class Administration:
    """Services for administrators; every call checks the principal again."""

    def __init__(self, services: AccountServices) -> None:
        self._storage = services.storage
        self._directory = services.directory
        self._passes = services.passes
        self._audit = services.audit
        self.limits_changed = Event[[]]()
        """Event: the limits of a user or of the lab may have changed."""

    def users(self, principal: Principal) -> tuple[UserRecord, ...]:
        """Return all users."""
        principal.check_admin()
        return self._directory.all_users

    async def change_user(
        self, principal: Principal, user_id: str, changes: UserChanges
    ) -> UserRecord:
        """Change a user's role or limits, or block them, which signs them out everywhere.

        Raises:
            ForbiddenError: if a token would appoint an administrator.
            UserNotFoundError: if no user has this id.
            LastAdminError: if no administrator would be left.
        """
        _check(principal)
        _check_role(principal, changes.role)
        values = _values(changes)
        if "blocked" in values:
            values["blocked_at"] = datetime.now(UTC) if values.pop("blocked") else None
        user = await self._storage(users.change_user, user_id, **values)
        await self._revoke_codes(user)
        self._passes.update(self._directory.put(user))
        if values:
            await self._audit.note(principal, "person_changed", user.email, _values(changes))
        self.limits_changed.emit()
        return user

    async def _revoke_codes(self, user: UserRecord) -> None:
        """Revoke what a blocked user or former administrator could regain access with."""
        if user.is_blocked:
            await self._storage(sessions.end_sessions_of, user.id)
            await self._storage(password_resets.forget_resets_of, user.id)
        if user.is_blocked or not user.is_admin:
            await self._storage(invitations.revoke_invitations_of, user.email)
            await self._storage(password_resets.forget_resets_made_by, user.email)

    async def change_lab(self, principal: Principal, changes: LabChanges) -> None:
        """Change who may register and the default limits."""
        _check(principal)
        for name, value in _values(changes).items():
            await self._directory.set_rule(name, value)
        await self._audit.note(principal, "lab_changed", data=_values(changes))
        self.limits_changed.emit()

    async def invitations(self, principal: Principal) -> tuple[InvitationRecord, ...]:
        """Return all invitations, newest first."""
        principal.check_admin()
        return await self._storage(invitations.list_invitations)

    async def invite(
        self, principal: Principal, request: NewInvitation
    ) -> tuple[InvitationRecord, str]:
        """Create an invitation; the second value is its code, which can't be retrieved later.

        Raises:
            ForbiddenError: if a token would appoint an administrator.
        """
        _check(principal)
        _check_role(principal, request.role)
        code = new_code(_CODE_GROUPS)
        invitation = await self._storage(
            invitations.add_invitation,
            digest(code),
            role=request.role,
            email=request.email,
            created_by=principal.me.email,
            expires_at=datetime.now(UTC) + INVITATION_LASTS,
        )
        await self._audit.note(principal, "invited", request.email or "", {"role": request.role})
        return invitation, code

    async def revoke_invitation(self, principal: Principal, invitation_id: str) -> None:
        """Revoke an unused invitation.

        Raises:
            UnknownThingError: if there is no such invitation.
        """
        _check(principal)
        if not await self._storage(invitations.revoke_invitation, invitation_id):
            raise UnknownThingError("There is no unused invitation with this id.")
        await self._audit.note(principal, "invitation_revoked", invitation_id)

    async def audit(
        self, principal: Principal, *, before: int | None = None, limit: int = 50
    ) -> tuple[AuditRecord, ...]:
        """Return entries of the audit log, newest first."""
        principal.check_admin()
        return await self._audit.read(before=before, limit=limit)


def _check(principal: Principal) -> None:
    principal.check_admin()
    if principal.credential.scope is TokenScope.READ:
        raise ReadOnlyTokenError


def _check_role(principal: Principal, role: Role | None) -> None:
    """Prevent a leaked token of an administrator from appointing another one."""
    if principal.credential.token_id is not None and role is Role.ADMIN:
        raise ForbiddenError("A token can't appoint administrators. Sign in to do it.")


def _values(changes: UserChanges | LabChanges) -> dict[str, Any]:
    """Return the fields that were set; null is meaningful for limits and ignored for others."""
    given = changes.model_dump(exclude_unset=True)
    nullable = {"runs_at_once", "disk_mb"}
    return {name: value for name, value in given.items() if value is not None or name in nullable}
