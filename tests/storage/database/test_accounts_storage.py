from datetime import UTC, datetime, timedelta

import pytest
from peewee import Database

from storage.database import run_sets, runs
from storage.database.accounts import (
    audit,
    invitations,
    lab_settings,
    password_resets,
    sessions,
    tokens,
    users,
)
from storage.database.accounts.sign_up import NewIdentity, join
from storage.database.database import Address, open_database
from storage.database.tables.runs import SchemaRow
from storage.errors import (
    EmailTakenError,
    InvitationGoneError,
    LastAdminError,
    UserNotFoundError,
)
from storage.records.accounts import Role, TokenScope, UserRecord
from storage.records.run_sets import RunSetKind, RunSetRecord

pytestmark = pytest.mark.usefixtures("database")

TOMORROW = datetime.now(UTC) + timedelta(days=1)


def add(email: str = "ada@example.org", role: Role = Role.MEMBER) -> UserRecord:
    return users.add_user(email=email, name="Ada", role=role, password_hash="hash")


def test_the_first_user_is_an_administrator_and_owns_existing_runs() -> None:
    run = runs.create_run(name="a", env_id="CartPole-v1", algorithm="PPO", config={})
    run_sets.add_run_set(
        RunSetRecord(id="g", kind=RunSetKind.SEEDS, name="a", spec={}, created_at=datetime.now(UTC))
    )

    first, second = add(), add("bob@example.org")

    assert (first.role, second.role) == (Role.ADMIN, Role.MEMBER)
    assert runs.get_run(run.id).owner == first.id
    assert run_sets.get_run_set("g").owner == first.id
    assert users.find_user("ada@example.org") == first
    assert users.list_users() == (first, second)


def test_an_email_address_belongs_to_one_user() -> None:
    add()

    with pytest.raises(EmailTakenError):
        add()
    assert len(users.list_users()) == 1


def test_the_last_administrator_can_not_be_demoted_or_blocked() -> None:
    admin = add()

    for change in ({"role": Role.VIEWER}, {"blocked_at": TOMORROW}):
        with pytest.raises(LastAdminError):
            users.change_user(admin.id, **change)

    assert users.get_user(admin.id) == admin


def test_a_change_without_values_leaves_a_user_unchanged() -> None:
    user = add()

    assert users.change_user(user.id) == user


def test_an_unknown_user_can_not_be_changed() -> None:
    add()

    with pytest.raises(UserNotFoundError, match="no user with the id 'x'"):
        users.change_user("x", name="X")


def test_an_external_identity_belongs_to_one_user() -> None:
    user = add()
    users.add_identity("https://issuer", "7", user_id=user.id, provider="github")

    assert users.find_identity("https://issuer", "7") == user
    assert users.find_identity("https://issuer", "8") is None
    assert [i.provider for i in users.list_identities(user.id)] == ["github"]
    with pytest.raises(EmailTakenError):
        users.add_identity("https://issuer", "7", user_id=user.id, provider="github")


def test_a_failed_registration_leaves_neither_user_nor_identity() -> None:
    user, taken = add(), NewIdentity(issuer="https://issuer", subject="7", provider="github")
    users.add_identity("https://issuer", "7", user_id=user.id, provider="github")
    other = NewIdentity(issuer="https://issuer", subject="8", provider="github")

    with pytest.raises(EmailTakenError):
        join(email="bob@example.org", name="Bob", role=Role.MEMBER, identity=taken)
    with pytest.raises(InvitationGoneError):
        join(
            email="bob@example.org",
            name="Bob",
            role=Role.MEMBER,
            identity=other,
            invitation_id="revoked",
        )

    assert users.list_users() == (user,)
    assert users.find_identity("https://issuer", "8") is None


def test_all_sessions_of_a_user_but_one_are_ended() -> None:
    user = add()
    created = [
        sessions.add_session(
            user.id, f"d{i}", expires_at=TOMORROW, address="10.0.0.1", browser="Firefox"
        )
        for i in range(3)
    ]

    sessions.end_sessions_of(user.id, but=created[1].id)

    assert sessions.find_session("d1") == created[1]
    assert sessions.list_sessions(user.id) == (created[1],)
    sessions.forget_expired(TOMORROW)
    assert sessions.find_session("d1") is None


def test_only_the_owner_can_revoke_a_token() -> None:
    user, other = add(), add("bob@example.org")
    token = tokens.add_token(user.id, "digest", name="laptop", scope=TokenScope.READ)
    tokens.touch_token(token.id)

    assert tokens.revoke_token(other.id, token.id) is None
    stored = tokens.find_token("digest")
    assert stored is not None
    assert stored.last_used_at is not None
    assert tokens.revoke_token(user.id, token.id) == stored
    assert tokens.list_tokens(user.id) == ()


def test_an_invitation_can_be_used_only_once() -> None:
    invitation = invitations.add_invitation(
        "digest", role=Role.VIEWER, email=None, created_by="ada", expires_at=TOMORROW
    )

    assert invitations.find_invitation("digest") == invitation
    assert invitations.use_invitation(invitation.id, "bob@example.org")
    assert not invitations.use_invitation(invitation.id, "eve@example.org")
    assert not invitations.revoke_invitation(invitation.id)
    assert invitations.list_invitations()[0].used_by == "bob@example.org"


def test_the_audit_log_is_listed_newest_first_and_in_pages() -> None:
    entries = [audit.add_entry("signed_in", who=f"p{i}", data={"n": i}) for i in range(3)]

    assert audit.list_entries(limit=2) == (entries[2], entries[1])
    assert audit.list_entries(before=entries[1].id) == (entries[0],)


def test_saving_a_lab_setting_replaces_its_value() -> None:
    lab_settings.save_lab_setting("registration", "open")
    lab_settings.save_lab_setting("registration", "closed")
    lab_settings.save_lab_setting("disk_mb", None)

    assert lab_settings.read_lab_settings() == {"registration": "closed", "disk_mb": None}


def test_a_database_older_than_accounts_is_migrated(address: Address, database: Database) -> None:
    run = runs.create_run(name="old", env_id="CartPole-v1", algorithm="PPO", config={})
    for table in ("audit", "resets", "sessions", "tokens", "identities", "people", "invitations"):
        database.execute_sql(f"DROP TABLE {table}")
    for table in ("lab_settings", "run_sets"):
        database.execute_sql(f"DROP TABLE {table}")
    database.execute_sql("DROP INDEX runs_history")
    for column in (
        *("visibility", "shared_json", "best_evaluation", "score", "sketch_json"),
        *("solved_by", "last_evaluation", "final_evaluation", "final_evaluation_at"),
    ):
        database.execute_sql(f"ALTER TABLE runs DROP COLUMN {column}")
    SchemaRow.update(version=1).execute()
    database.close()

    reopened = open_database(address)

    assert runs.get_run(run.id) == run
    assert add().role is Role.ADMIN
    reopened.close()


def test_old_and_excess_failed_attempts_are_deleted_before_actions_of_users() -> None:
    def names() -> list[str]:
        return [entry.who for entry in reversed(audit.list_entries())]

    now = datetime.now(UTC)
    for who, action in (
        ("ada", "signed_in"),
        ("eve1", "sign_in_failed"),
        ("eve2", "registration_refused"),
        ("eve3", "sign_in_failed"),
    ):
        audit.add_entry(action, who=who)

    audit.forget_old(now, max_attempts=2)
    assert names() == ["ada", "eve2", "eve3"]
    audit.forget_old(now + timedelta(days=31))
    assert names() == ["ada"]
    audit.forget_old(now + timedelta(days=366))
    assert names() == []


def test_only_the_newest_reset_code_works_and_only_once() -> None:
    user = add()
    for digest in ("old", "new"):
        password_resets.add_reset(user.id, digest, created_by="root", expires_at=TOMORROW)

    assert password_resets.use_reset("old", password_hash="x") is None
    reset = password_resets.find_reset("new")
    assert reset is not None
    assert (reset.user_id, reset.created_by) == (user.id, "root")
    changed = password_resets.use_reset("new", password_hash="another")
    assert changed is not None
    assert changed.password_hash == "another"
    assert password_resets.use_reset("new", password_hash="x") is None
    password_resets.add_reset(user.id, "late", created_by="root", expires_at=TOMORROW)
    password_resets.forget_expired(TOMORROW)
    assert password_resets.find_reset("late") is None
