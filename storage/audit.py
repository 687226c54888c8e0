"""Read and write the audit log: who did what when, and from where."""

from datetime import UTC, datetime

from storage.account_records import AuditRecord
from storage.account_tables import AuditRow
from storage.records import JsonObject


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
    return _record(row)


def list_entries(*, before: int | None = None, limit: int = 50) -> tuple[AuditRecord, ...]:
    """Return entries, newest first: those with an id below `before`."""
    query = AuditRow.select()
    if before is not None:
        query = query.where(AuditRow.id < before)
    return tuple(_record(row) for row in query.order_by(AuditRow.id.desc()).limit(limit))


def _record(row: AuditRow) -> AuditRecord:
    return AuditRecord(
        id=row.id,
        timestamp=row.timestamp,
        person_id=row.person_id,
        who=row.who,
        action=row.action,
        subject=row.subject,
        address=row.address,
        data=row.data,
    )
