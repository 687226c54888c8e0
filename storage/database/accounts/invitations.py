"""Read and write invitations; they are looked up by the digest of their code."""

from datetime import UTC, datetime
from uuid import uuid4

from storage.database.tables import InvitationRow, record_of
from storage.records import InvitationRecord, Role


def add_invitation(
    digest: str, *, role: Role, email: str | None, created_by: str, expires_at: datetime
) -> InvitationRecord:
    """Add an invitation."""
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
    """Return the invitation with this digest, if any; it may be used or expired."""
    row = InvitationRow.get_or_none(InvitationRow.digest == digest)
    return None if row is None else record_of(InvitationRecord, row)


def use_invitation(invitation_id: str, email: str) -> bool:
    """Mark an invitation as used; return False if it was used or revoked before."""
    free = (InvitationRow.id == invitation_id) & InvitationRow.used_at.is_null()
    values = {"used_at": datetime.now(UTC), "used_by": email}
    return bool(InvitationRow.update(values).where(free).execute())


def list_invitations() -> tuple[InvitationRecord, ...]:
    """Return all invitations, newest first."""
    rows = InvitationRow.select().order_by(InvitationRow.created_at.desc(), InvitationRow.id)
    return tuple(record_of(InvitationRecord, row) for row in rows)


def revoke_invitation(invitation_id: str) -> bool:
    """Delete an unused invitation; return whether it existed."""
    free = (InvitationRow.id == invitation_id) & InvitationRow.used_at.is_null()
    # peewee's stubs mistype `delete`.
    return bool(InvitationRow.delete().where(free).execute())  # type: ignore[misc]


def revoke_invitations_of(email: str) -> None:
    """Delete the unused invitations that a user created."""
    free = (InvitationRow.created_by == email) & InvitationRow.used_at.is_null()
    InvitationRow.delete().where(free).execute()  # type: ignore[misc]
