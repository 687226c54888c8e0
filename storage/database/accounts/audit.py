"""Read and write the audit log: who did what when, and from where."""

from datetime import UTC, datetime, timedelta

from storage.database.tables.accounts import AuditRow
from storage.database.tables.runs import record_of
from storage.records.accounts import AuditRecord
from storage.records.runs import JsonObject

LEFT_OUT = "attempts_left_out"
"""How many attempts of strangers were not noted one by one."""

_ATTEMPTS = ("sign_in_failed", "registration_refused", "reset_refused", LEFT_OUT)
"""What strangers can cause."""
_KEEP_ATTEMPTS = timedelta(days=30)
_MOST_ATTEMPTS = 20_000
_KEEP_OTHERS = timedelta(days=365)


def add_entry(
    action: str,
    *,
    who: str,
    person_id: str | None = None,
    subject: str = "",
    address: str = "",
    data: JsonObject | None = None,
) -> AuditRecord:
    """Append one entry and return it."""
    row = AuditRow.create(
        timestamp=datetime.now(UTC),
        person_id=person_id,
        who=who[:255],
        action=action,
        subject=subject[:255],
        address=address[:100],
        data=dict(data or {}),
    )
    return record_of(AuditRecord, row)


def list_entries(*, before: int | None = None, limit: int = 50) -> tuple[AuditRecord, ...]:
    """Return entries, newest first: those with an id below `before`."""
    query = AuditRow.select()
    if before is not None:
        query = query.where(AuditRow.id < before)
    return tuple(
        record_of(AuditRecord, row) for row in query.order_by(AuditRow.id.desc()).limit(limit)
    )


def forget_old(now: datetime, *, most_attempts: int = _MOST_ATTEMPTS) -> None:
    """Forget attempts of strangers after a month or if there are too many, the rest after a year.

    What strangers do can't push out what people did.
    """
    is_attempt = AuditRow.action.in_(_ATTEMPTS)
    attempts = AuditRow.select(AuditRow.id).where(is_attempt).order_by(AuditRow.id.desc())
    too_many = attempts.offset(most_attempts).limit(1).scalar() or 0
    is_old = (AuditRow.timestamp < now - _KEEP_ATTEMPTS) | (AuditRow.id <= too_many)
    is_past = AuditRow.timestamp < now - _KEEP_OTHERS
    # The stubs of peewee trip over `delete`.
    AuditRow.delete().where((is_attempt & is_old) | is_past).execute()  # type: ignore[misc]
