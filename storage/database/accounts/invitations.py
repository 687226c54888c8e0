"""Read and write invitations; an invitation is found by the digest of its code."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.database.tables.accounts import InvitationRow
from storage.database.tables.runs import record_of
from storage.records.accounts import InvitationRecord, Role


def add_invitation(
    digest: str, *, role: Role, email: str | None, created_by: str, expires_at: datetime
) -> InvitationRecord:
    """Remember an invitation."""
    row = InvitationRow.create(
        id=uuid4().hex,
        digest=digest,
        role=role,
        email=email,
        created_by=created_by,
        created_at=datetime.now(UTC),
        expires_at=expires_at,
    )
    return record_of(InvitationRecord, row)


def find_invitation(digest: str) -> InvitationRecord | None:
    """Return the invitation with this digest, if there is one; it may be used or expired."""
    row = InvitationRow.get_or_none(InvitationRow.digest == digest)
    return None if row is None else record_of(InvitationRecord, row)


def use_invitation(invitation_id: str, email: str) -> bool:
    """Mark an invitation as used; return False if somebody was quicker."""
    free = (InvitationRow.id == invitation_id) & InvitationRow.used_at.is_null()
    values = {"used_at": datetime.now(UTC), "used_by": email}
    return bool(InvitationRow.update(values).where(free).execute())


def list_invitations() -> tuple[InvitationRecord, ...]:
    """Return all invitations, newest first."""
    rows = InvitationRow.select().order_by(InvitationRow.created_at.desc(), InvitationRow.id)
    return tuple(record_of(InvitationRecord, row) for row in rows)


def revoke_invitation(invitation_id: str) -> bool:
    """Forget an invitation that wasn't used; return whether there was one."""
    free = (InvitationRow.id == invitation_id) & InvitationRow.used_at.is_null()
    # The stubs of peewee trip over `delete`.
    return bool(InvitationRow.delete().where(free).execute())  # type: ignore[misc]


def revoke_invitations_of(email: str) -> None:
    """Forget what somebody invited others with, as far as it wasn't used."""
    free = (InvitationRow.created_by == email) & InvitationRow.used_at.is_null()
    InvitationRow.delete().where(free).execute()  # type: ignore[misc]
