"""Read and write the audit log."""

from datetime import UTC, datetime, timedelta

from storage.database.tables import AuditRow, record_of
from storage.records import AuditRecord, JsonObject

OMITTED_ATTEMPTS = "attempts_left_out"
"""The action that counts unauthenticated attempts that were not logged individually."""

_ATTEMPTS = ("sign_in_failed", "registration_refused", "reset_refused", OMITTED_ATTEMPTS)
"""Actions that unauthenticated clients can cause."""
_KEEP_ATTEMPTS = timedelta(days=30)
_MAX_ATTEMPTS = 20_000
_KEEP_OTHERS = timedelta(days=365)


def add_entry(
    action: str,
    *,
    who: str,
    user_id: str | None = None,
    subject: str = "",
    address: str = "",
    data: JsonObject | None = None,
) -> AuditRecord:
    """Append one entry and return it."""
    row = AuditRow.create(
        timestamp=datetime.now(UTC),
        user_id=user_id,
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


def forget_old(now: datetime, *, max_attempts: int = _MAX_ATTEMPTS) -> None:
    """Delete unauthenticated attempts after 30 days or above a limit, other entries after a year.

    Unauthenticated clients can't push out entries of users.
    """
    is_attempt = AuditRow.action.in_(_ATTEMPTS)
    attempts = AuditRow.select(AuditRow.id).where(is_attempt).order_by(AuditRow.id.desc())
    too_many = attempts.offset(max_attempts).limit(1).scalar() or 0
    is_old = (AuditRow.timestamp < now - _KEEP_ATTEMPTS) | (AuditRow.id <= too_many)
    is_past = AuditRow.timestamp < now - _KEEP_OTHERS
    # peewee's stubs mistype `delete`.
    AuditRow.delete().where((is_attempt & is_old) | is_past).execute()  # type: ignore[misc]
