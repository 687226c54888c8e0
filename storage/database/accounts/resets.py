"""Read and write permissions to set a new password; one is found by the digest of its code."""

from datetime import UTC, datetime

from storage.database.accounts.people import change_person
from storage.database.database import in_one_step
from storage.database.tables.accounts import ResetRow
from storage.database.tables.runs import record_of
from storage.records.accounts import PersonRecord, ResetRecord


def add_reset(person_id: str, digest: str, *, created_by: str, expires_at: datetime) -> ResetRecord:
    """Let somebody set a new password; what they had for it before is worth nothing any more."""
    with in_one_step():
        forget_resets_of(person_id)
        row = ResetRow.create(
            digest=digest,
            person=person_id,
            created_by=created_by,
            created_at=datetime.now(UTC),
            expires_at=expires_at,
        )
    return record_of(ResetRecord, row)


def find_reset(digest: str) -> ResetRecord | None:
    """Return the permission with this digest, if there is one; it may have expired."""
    row = ResetRow.get_or_none(ResetRow.digest == digest)
    return None if row is None else record_of(ResetRecord, row)


def use_reset(digest: str, *, password_hash: str) -> PersonRecord | None:
    """Set a new password and forget the permission; None: somebody was quicker."""
    with in_one_step():
        found = find_reset(digest)
        if found is None:
            return None
        forget_resets_of(found.person_id)
        return change_person(found.person_id, password_hash=password_hash)


def forget_resets_of(person_id: str) -> None:
    """Forget what somebody could set a password with."""
    # The stubs of peewee trip over `delete`.
    ResetRow.delete().where(ResetRow.person == person_id).execute()  # type: ignore[misc]


def forget_resets_made_by(email: str) -> None:
    """Forget what somebody let others set a password with."""
    ResetRow.delete().where(ResetRow.created_by == email).execute()  # type: ignore[misc]


def forget_expired(now: datetime) -> None:
    """Forget what nobody can use any more."""
    ResetRow.delete().where(ResetRow.expires_at <= now).execute()  # type: ignore[misc]
