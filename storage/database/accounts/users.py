"""Read and write users and their external accounts."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from peewee import IntegrityError

from storage import EmailTakenError, LastAdminError, UserNotFoundError
from storage.database import transaction
from storage.database.tables import IdentityRow, RunRow, RunSetRow, UserRow, record_of
from storage.records import IdentityRecord, Role, UserRecord

_CHANGEABLE = frozenset(
    {
        "name",
        "role",
        "password_hash",
        "blocked_at",
        "last_login_at",
        "hf_token",
        "avatar_at",
        "runs_at_once",
        "disk_mb",
    }
)


def add_user(*, email: str, name: str, role: Role, password_hash: str | None = None) -> UserRecord:
    """Add a user; the first becomes an administrator and owns all runs made without accounts.

    Raises:
        EmailTakenError: if another user has this address.
    """
    with transaction():
        is_first = not UserRow.select().exists()
        values = {
            "id": uuid4().hex,
            "email": email,
            "name": name,
            "role": Role.ADMIN if is_first else role,
            "password_hash": password_hash,
            "created_at": datetime.now(UTC),
        }
        if UserRow.select().where(UserRow.email == email).exists():
            raise EmailTakenError(email)
        row = UserRow.create(**values)
        if is_first:
            RunRow.update(owner=row.id).where(RunRow.owner.is_null()).execute()
            RunSetRow.update(owner=row.id).where(RunSetRow.owner.is_null()).execute()
    return record_of(UserRecord, row)


def get_user(user_id: str) -> UserRecord:
    """Return one user.

    Raises:
        UserNotFoundError: if no user has this id.
    """
    row = UserRow.get_or_none(UserRow.id == user_id)
    if row is None:
        raise UserNotFoundError(user_id)
    return record_of(UserRecord, row)


def find_user(email: str) -> UserRecord | None:
    """Return the user with this address, if any."""
    row = UserRow.get_or_none(UserRow.email == email)
    return None if row is None else record_of(UserRecord, row)


def list_users() -> tuple[UserRecord, ...]:
    """Return all users in order of creation."""
    return tuple(
        record_of(UserRecord, row) for row in UserRow.select().order_by(UserRow.created_at)
    )


def change_user(user_id: str, **values: Any) -> UserRecord:
    """Set columns of a user that may change: see `_CHANGEABLE`.

    Raises:
        UserNotFoundError: if no user has this id.
        LastAdminError: if no administrator would be left.
    """
    unknown = values.keys() - _CHANGEABLE
    if unknown:
        raise TypeError(f"A user's {', '.join(sorted(unknown))} can't be changed.")
    with transaction():
        user = get_user(user_id)
        if not values:
            return user
        UserRow.update(values).where(UserRow.id == user_id).execute()
        if not _has_admin():
            raise LastAdminError
    return get_user(user_id)


def add_identity(issuer: str, subject: str, *, user_id: str, provider: str) -> IdentityRecord:
    """Link an external account to a user.

    Raises:
        EmailTakenError: if it is already linked.
    """
    values = {"issuer": issuer, "subject": subject, "user": user_id, "provider": provider}
    try:
        with transaction():
            row = IdentityRow.create(**values, created_at=datetime.now(UTC))
    except IntegrityError:
        raise EmailTakenError(f"This {provider} account") from None
    return record_of(IdentityRecord, row)


def find_identity(issuer: str, subject: str) -> UserRecord | None:
    """Return the user of an external account, if any."""
    row = IdentityRow.get_or_none(IdentityRow.issuer == issuer, IdentityRow.subject == subject)
    return None if row is None else record_of(UserRecord, row.user)


def list_identities(user_id: str) -> tuple[IdentityRecord, ...]:
    """Return the external accounts of a user."""
    rows = IdentityRow.select().where(IdentityRow.user == user_id)
    return tuple(record_of(IdentityRecord, row) for row in rows.order_by(IdentityRow.created_at))


def _has_admin() -> bool:
    is_active_admin = (UserRow.role == Role.ADMIN) & UserRow.blocked_at.is_null()
    return bool(UserRow.select().where(is_active_admin).exists())
