"""Peewee tables and their fields."""

from storage.database.tables.accounts import (
    ACCOUNT_TABLES,
    AuditRow,
    IdentityRow,
    InvitationRow,
    LabSettingRow,
    ResetRow,
    SessionRow,
    TokenRow,
    UserRow,
)
from storage.database.tables.runs import (
    TABLES,
    EventRow,
    RunRow,
    RunSetRow,
    SchemaRow,
    record_of,
    without_nul,
)

__all__ = [
    "ACCOUNT_TABLES",
    "TABLES",
    "AuditRow",
    "EventRow",
    "IdentityRow",
    "InvitationRow",
    "LabSettingRow",
    "ResetRow",
    "RunRow",
    "RunSetRow",
    "SchemaRow",
    "SessionRow",
    "TokenRow",
    "UserRow",
    "record_of",
    "without_nul",
]
