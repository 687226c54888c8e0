"""Read and write people, and their accounts elsewhere."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from peewee import IntegrityError

from storage.database.database import in_one_step
from storage.database.tables.accounts import IdentityRow, PersonRow
from storage.database.tables.runs import RunRow, record_of
from storage.errors import EmailTakenError, LastAdminError, PersonNotFoundError
from storage.records.accounts import IdentityRecord, PersonRecord, Role

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


def add_person(
    *, email: str, name: str, role: Role, password_hash: str | None = None
) -> PersonRecord:
    """Add somebody; the first becomes an administrator and owns what was made without accounts.

    Raises:
        EmailTakenError: if somebody has this address.
    """
    with in_one_step():
        is_first = not PersonRow.select().exists()
        values = {
            "id": uuid4().hex,
            "email": email,
            "name": name,
            "role": Role.ADMIN if is_first else role,
            "password_hash": password_hash,
            "created_at": datetime.now(UTC),
        }
        if PersonRow.select().where(PersonRow.email == email).exists():
            raise EmailTakenError(email)
        row = PersonRow.create(**values)
        if is_first:
            RunRow.update(owner=row.id).where(RunRow.owner.is_null()).execute()
    return record_of(PersonRecord, row)


def get_person(person_id: str) -> PersonRecord:
    """Return somebody.

    Raises:
        PersonNotFoundError: if there is nobody of this id.
    """
    row = PersonRow.get_or_none(PersonRow.id == person_id)
    if row is None:
        raise PersonNotFoundError(person_id)
    return record_of(PersonRecord, row)


def find_person(email: str) -> PersonRecord | None:
    """Return who has this address, if anybody has."""
    row = PersonRow.get_or_none(PersonRow.email == email)
    return None if row is None else record_of(PersonRecord, row)


def list_people() -> tuple[PersonRecord, ...]:
    """Return everybody, in the order of their coming."""
    return tuple(
        record_of(PersonRecord, row) for row in PersonRow.select().order_by(PersonRow.created_at)
    )


def change_person(person_id: str, **values: Any) -> PersonRecord:
    """Set what may change about somebody; nothing given leaves them as they are.

    Raises:
        PersonNotFoundError: if there is nobody of this id.
        LastAdminError: if nobody would look after the lab any more.
    """
    unknown = values.keys() - _CHANGEABLE
    if unknown:
        raise TypeError(f"A person's {', '.join(sorted(unknown))} can't be changed.")
    with in_one_step():
        person = get_person(person_id)
        if not values:
            return person
        PersonRow.update(values).where(PersonRow.id == person_id).execute()
        if not _has_admin():
            raise LastAdminError
    return get_person(person_id)


def add_identity(issuer: str, subject: str, *, person_id: str, provider: str) -> IdentityRecord:
    """Let an account elsewhere stand for somebody.

    Raises:
        EmailTakenError: if it stands for somebody already.
    """
    values = {"issuer": issuer, "subject": subject, "person": person_id, "provider": provider}
    try:
        with in_one_step():
            row = IdentityRow.create(**values, created_at=datetime.now(UTC))
    except IntegrityError:
        raise EmailTakenError(f"{provider} account") from None
    return record_of(IdentityRecord, row)


def find_identity(issuer: str, subject: str) -> PersonRecord | None:
    """Return for whom an account elsewhere stands, if for anybody."""
    row = IdentityRow.get_or_none(IdentityRow.issuer == issuer, IdentityRow.subject == subject)
    return None if row is None else record_of(PersonRecord, row.person)


def list_identities(person_id: str) -> tuple[IdentityRecord, ...]:
    """Return somebody's accounts elsewhere."""
    rows = IdentityRow.select().where(IdentityRow.person == person_id)
    return tuple(record_of(IdentityRecord, row) for row in rows.order_by(IdentityRow.created_at))


def _has_admin() -> bool:
    looks_after = (PersonRow.role == Role.ADMIN) & PersonRow.blocked_at.is_null()
    return bool(PersonRow.select().where(looks_after).exists())
