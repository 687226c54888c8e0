"""Peewee tables of accounts; nothing outside storage/ imports this module."""

from peewee import AutoField, CompositeKey, ForeignKeyField, IntegerField, Model

from storage.database.tables.runs import EnumField, JsonField, LineField, ProseField, UtcField
from storage.records.accounts import Role, TokenScope


class PersonRow(Model):
    """A row of the people table."""

    id = LineField(primary_key=True)
    email = LineField(unique=True)
    name = LineField()
    role = EnumField(Role, default=Role.MEMBER)
    created_at = UtcField(index=True)
    password_hash = LineField(null=True)
    blocked_at = UtcField(null=True)
    last_login_at = UtcField(null=True)
    hf_token = ProseField(null=True)
    avatar_at = UtcField(null=True)
    runs_at_once = IntegerField(null=True)
    disk_mb = IntegerField(null=True)

    class Meta:
        """Name the table after what it holds."""

        table_name = "people"


class IdentityRow(Model):
    """A row of the accounts elsewhere."""

    issuer = LineField()
    subject = LineField()
    person = ForeignKeyField(PersonRow, column_name="person_id", on_delete="CASCADE")
    provider = LineField()
    created_at = UtcField()

    class Meta:
        """Found by what the other side calls the person."""

        table_name = "identities"
        primary_key = CompositeKey("issuer", "subject")


class SessionRow(Model):
    """A row of the sessions table."""

    id = LineField(primary_key=True)
    digest = LineField(unique=True)
    person = ForeignKeyField(PersonRow, column_name="person_id", on_delete="CASCADE")
    created_at = UtcField()
    last_seen_at = UtcField()
    expires_at = UtcField(index=True)
    address = LineField()
    browser = LineField()

    class Meta:
        """Name the table after what it holds."""

        table_name = "sessions"


class TokenRow(Model):
    """A row of the API tokens table."""

    id = LineField(primary_key=True)
    digest = LineField(unique=True)
    person = ForeignKeyField(PersonRow, column_name="person_id", on_delete="CASCADE")
    name = LineField()
    scope = EnumField(TokenScope, default=TokenScope.READ)
    created_at = UtcField()
    last_used_at = UtcField(null=True)

    class Meta:
        """Name the table after what it holds."""

        table_name = "tokens"


class InvitationRow(Model):
    """A row of the invitations table."""

    id = LineField(primary_key=True)
    digest = LineField(unique=True)
    role = EnumField(Role, default=Role.MEMBER)
    email = LineField(null=True)
    created_by = LineField()
    created_at = UtcField(index=True)
    expires_at = UtcField()
    used_at = UtcField(null=True)
    used_by = LineField(null=True)

    class Meta:
        """Name the table after what it holds."""

        table_name = "invitations"


class ResetRow(Model):
    """A row of the permissions to set a new password."""

    digest = LineField(primary_key=True)
    person = ForeignKeyField(PersonRow, column_name="person_id", on_delete="CASCADE")
    created_by = LineField()
    created_at = UtcField()
    expires_at = UtcField(index=True)

    class Meta:
        """Name the table after what it holds."""

        table_name = "resets"


class AuditRow(Model):
    """A row of the audit log; it outlives the people it tells of."""

    id = AutoField()
    timestamp = UtcField(index=True)
    person_id = LineField(null=True)
    who = LineField()
    action = LineField()
    subject = LineField()
    address = LineField()
    data = JsonField(default=dict)

    class Meta:
        """Name the table after what it holds."""

        table_name = "audit"


class LabSettingRow(Model):
    """What administrators set for the whole lab."""

    name = LineField(primary_key=True)
    value = JsonField(null=True)

    class Meta:
        """Name the table after what it holds."""

        table_name = "lab_settings"


ACCOUNT_TABLES: list[type[Model]] = [
    PersonRow,
    IdentityRow,
    SessionRow,
    TokenRow,
    InvitationRow,
    ResetRow,
    AuditRow,
    LabSettingRow,
]
