"""Peewee tables of accounts; nothing outside storage/ imports this module."""

from peewee import AutoField, CompositeKey, ForeignKeyField, IntegerField, Model

from storage.database.tables.runs import EnumField, JsonField, LineField, ProseField, UtcField
from storage.records import Role, TokenScope


class UserRow(Model):
    """A user."""

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
        """Options of the table."""

        table_name = "people"


class IdentityRow(Model):
    """A row of the external accounts."""

    issuer = LineField()
    subject = LineField()
    user = ForeignKeyField(
        UserRow, object_id_name="user_id", column_name="person_id", on_delete="CASCADE"
    )
    provider = LineField()
    created_at = UtcField()

    class Meta:
        """Use the provider's id of the user as the key."""

        table_name = "identities"
        primary_key = CompositeKey("issuer", "subject")


class SessionRow(Model):
    """A row of the sessions table."""

    id = LineField(primary_key=True)
    digest = LineField(unique=True)
    user = ForeignKeyField(
        UserRow, object_id_name="user_id", column_name="person_id", on_delete="CASCADE"
    )
    created_at = UtcField()
    last_seen_at = UtcField()
    expires_at = UtcField(index=True)
    address = LineField()
    browser = LineField()

    class Meta:
        """Options of the table."""

        table_name = "sessions"


class TokenRow(Model):
    """A row of the API tokens table."""

    id = LineField(primary_key=True)
    digest = LineField(unique=True)
    user = ForeignKeyField(
        UserRow, object_id_name="user_id", column_name="person_id", on_delete="CASCADE"
    )
    name = LineField()
    scope = EnumField(TokenScope, default=TokenScope.READ)
    created_at = UtcField()
    last_used_at = UtcField(null=True)

    class Meta:
        """Options of the table."""

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
        """Options of the table."""

        table_name = "invitations"


class ResetRow(Model):
    """A row of the password resets."""

    digest = LineField(primary_key=True)
    user = ForeignKeyField(
        UserRow, object_id_name="user_id", column_name="person_id", on_delete="CASCADE"
    )
    created_by = LineField()
    created_at = UtcField()
    expires_at = UtcField(index=True)

    class Meta:
        """Options of the table."""

        table_name = "resets"


class AuditRow(Model):
    """A row of the audit log; it outlives its user."""

    id = AutoField()
    timestamp = UtcField(index=True)
    user_id = LineField(null=True, column_name="person_id")
    who = LineField()
    action = LineField()
    subject = LineField()
    address = LineField()
    data = JsonField(default=dict)

    class Meta:
        """Options of the table."""

        table_name = "audit"


class LabSettingRow(Model):
    """A setting of the lab that an administrator changed."""

    name = LineField(primary_key=True)
    value = JsonField(null=True)

    class Meta:
        """Options of the table."""

        table_name = "lab_settings"


ACCOUNT_TABLES: list[type[Model]] = [
    UserRow,
    IdentityRow,
    SessionRow,
    TokenRow,
    InvitationRow,
    ResetRow,
    AuditRow,
    LabSettingRow,
]
