"""Read and write password resets; they are looked up by the digest of their code."""

from datetime import UTC, datetime

from storage.database import transaction
from storage.database.accounts.users import change_user
from storage.database.tables import ResetRow, record_of
from storage.records import ResetRecord, UserRecord


def add_reset(user_id: str, digest: str, *, created_by: str, expires_at: datetime) -> ResetRecord:
    """Add a password reset for a user; it invalidates earlier ones."""
    with transaction():
        forget_resets_of(user_id)
        row = ResetRow.create(
            digest=digest,
            user=user_id,
            created_by=created_by,
            created_at=datetime.now(UTC),
            expires_at=expires_at,
        )
    return record_of(ResetRecord, row)


def find_reset(digest: str) -> ResetRecord | None:
    """Return the reset with this digest, if any; it may have expired."""
    row = ResetRow.get_or_none(ResetRow.digest == digest)
    return None if row is None else record_of(ResetRecord, row)


def use_reset(digest: str, *, password_hash: str) -> UserRecord | None:
    """Set a new password and delete the user's resets; return None if the reset is gone."""
    with transaction():
        found = find_reset(digest)
        if found is None:
            return None
        forget_resets_of(found.user_id)
        return change_user(found.user_id, password_hash=password_hash)


def forget_resets_of(user_id: str) -> None:
    """Delete the resets of a user."""
    # peewee's stubs mistype `delete`.
    ResetRow.delete().where(ResetRow.user == user_id).execute()  # type: ignore[misc]


def forget_resets_made_by(email: str) -> None:
    """Delete the resets that a user created for others."""
    ResetRow.delete().where(ResetRow.created_by == email).execute()  # type: ignore[misc]


def forget_expired(now: datetime) -> None:
    """Delete expired resets."""
    ResetRow.delete().where(ResetRow.expires_at <= now).execute()  # type: ignore[misc]
