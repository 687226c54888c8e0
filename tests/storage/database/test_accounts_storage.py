from datetime import UTC, datetime, timedelta

import pytest
from peewee import Database

from storage.database import runs
from storage.database.accounts import (
    audit,
    invitations,
    lab_settings,
    people,
    resets,
    sessions,
    tokens,
)
from storage.database.accounts.joining import NewIdentity, join
from storage.database.database import Address, open_database
from storage.database.tables.runs import SchemaRow
from storage.errors import (
    EmailTakenError,
    InvitationGoneError,
    LastAdminError,
    PersonNotFoundError,
)
from storage.records.accounts import PersonRecord, Role, TokenScope

pytestmark = pytest.mark.usefixtures("database")

TOMORROW = datetime.now(UTC) + timedelta(days=1)


def add(email: str = "ada@example.org", role: Role = Role.MEMBER) -> PersonRecord:
    return people.add_person(email=email, name="Ada", role=role, password_hash="hash")


def test_the_first_person_looks_after_the_lab_and_owns_what_was_there() -> None:
    run = runs.create_run(name="a", env_id="CartPole-v1", algorithm="PPO", config={})

    first, second = add(), add("bob@example.org")

    assert (first.role, second.role) == (Role.ADMIN, Role.MEMBER)
    assert runs.get_run(run.id).owner == first.id
    assert people.find_person("ada@example.org") == first
    assert people.list_people() == (first, second)


def test_an_address_belongs_to_one_person() -> None:
    add()

    with pytest.raises(EmailTakenError):
        add()
    assert len(people.list_people()) == 1


def test_there_is_always_an_administrator() -> None:
    admin = add()

    for change in ({"role": Role.VIEWER}, {"blocked_at": TOMORROW}):
        with pytest.raises(LastAdminError):
            people.change_person(admin.id, **change)

    assert people.get_person(admin.id) == admin


def test_who_is_changed_in_nothing_stays_as_they_are() -> None:
    person = add()

    assert people.change_person(person.id) == person


def test_nobody_is_changed_who_does_not_exist() -> None:
    add()

    with pytest.raises(PersonNotFoundError, match="nobody with the id 'x'"):
        people.change_person("x", name="X")


def test_an_account_elsewhere_stands_for_one_person() -> None:
    person = add()
    people.add_identity("https://issuer", "7", person_id=person.id, provider="github")

    assert people.find_identity("https://issuer", "7") == person
    assert people.find_identity("https://issuer", "8") is None
    assert [i.provider for i in people.list_identities(person.id)] == ["github"]
    with pytest.raises(EmailTakenError):
        people.add_identity("https://issuer", "7", person_id=person.id, provider="github")


def test_nobody_joins_by_half() -> None:
    person, elsewhere = add(), NewIdentity(issuer="https://issuer", subject="7", provider="github")
    people.add_identity("https://issuer", "7", person_id=person.id, provider="github")
    other = NewIdentity(issuer="https://issuer", subject="8", provider="github")

    with pytest.raises(EmailTakenError):
        join(email="bob@example.org", name="Bob", role=Role.MEMBER, identity=elsewhere)
    with pytest.raises(InvitationGoneError):
        join(
            email="bob@example.org",
            name="Bob",
            role=Role.MEMBER,
            identity=other,
            invitation_id="revoked",
        )

    assert people.list_people() == (person,)
    assert people.find_identity("https://issuer", "8") is None


def test_sessions_are_found_by_digest_and_end_together_but_for_one() -> None:
    person = add()
    made = [
        sessions.add_session(
            person.id, f"d{i}", expires_at=TOMORROW, address="10.0.0.1", browser="Firefox"
        )
        for i in range(3)
    ]

    sessions.end_sessions_of(person.id, but=made[1].id)

    assert sessions.find_session("d1") == made[1]
    assert sessions.list_sessions(person.id) == (made[1],)
    sessions.forget_expired(TOMORROW)
    assert sessions.find_session("d1") is None


def test_a_token_is_revoked_by_its_owner_only() -> None:
    person, other = add(), add("bob@example.org")
    token = tokens.add_token(person.id, "digest", name="laptop", scope=TokenScope.READ)
    tokens.touch_token(token.id)

    assert tokens.revoke_token(other.id, token.id) is None
    found = tokens.find_token("digest")
    assert found is not None
    assert found.last_used_at is not None
    assert tokens.revoke_token(person.id, token.id) == found
    assert tokens.list_tokens(person.id) == ()


def test_an_invitation_is_used_once() -> None:
    made = invitations.add_invitation(
        "digest", role=Role.VIEWER, email=None, created_by="ada", expires_at=TOMORROW
    )

    assert invitations.find_invitation("digest") == made
    assert invitations.use_invitation(made.id, "bob@example.org")
    assert not invitations.use_invitation(made.id, "eve@example.org")
    assert not invitations.revoke_invitation(made.id)
    assert invitations.list_invitations()[0].used_by == "bob@example.org"


def test_the_audit_log_comes_newest_first_and_in_parts() -> None:
    made = [audit.add_entry("signed_in", who=f"p{i}", data={"n": i}) for i in range(3)]

    assert audit.list_entries(limit=2) == (made[2], made[1])
    assert audit.list_entries(before=made[1].id) == (made[0],)


def test_lab_settings_are_replaced() -> None:
    lab_settings.save_lab_setting("registration", "open")
    lab_settings.save_lab_setting("registration", "closed")
    lab_settings.save_lab_setting("disk_mb", None)

    assert lab_settings.read_lab_settings() == {"registration": "closed", "disk_mb": None}


def test_a_database_from_before_accounts_is_brought_up_to_date(
    address: Address, database: Database
) -> None:
    run = runs.create_run(name="old", env_id="CartPole-v1", algorithm="PPO", config={})
    for table in ("audit", "resets", "sessions", "tokens", "identities", "people", "invitations"):
        database.execute_sql(f"DROP TABLE {table}")
    database.execute_sql("DROP TABLE lab_settings")
    database.execute_sql("DROP INDEX runs_history")
    for column in ("visibility", "shared_json", "best_evaluation", "score", "sketch_json"):
        database.execute_sql(f"ALTER TABLE runs DROP COLUMN {column}")
    SchemaRow.update(version=1).execute()
    database.close()

    again = open_database(address)

    assert runs.get_run(run.id) == run
    assert add().role is Role.ADMIN
    again.close()


def test_old_and_too_many_attempts_of_strangers_go_and_what_people_did_stays() -> None:
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

    audit.forget_old(now, most_attempts=2)
    assert names() == ["ada", "eve2", "eve3"]
    audit.forget_old(now + timedelta(days=31))
    assert names() == ["ada"]
    audit.forget_old(now + timedelta(days=366))
    assert names() == []


def test_a_new_password_is_set_once_and_with_the_newest_code() -> None:
    person = add()
    for digest in ("old", "new"):
        resets.add_reset(person.id, digest, created_by="root", expires_at=TOMORROW)

    assert resets.use_reset("old", password_hash="x") is None
    found = resets.find_reset("new")
    assert found is not None
    assert (found.person_id, found.created_by) == (person.id, "root")
    changed = resets.use_reset("new", password_hash="another")
    assert changed is not None
    assert changed.password_hash == "another"
    assert resets.use_reset("new", password_hash="x") is None
    resets.add_reset(person.id, "late", created_by="root", expires_at=TOMORROW)
    resets.forget_expired(TOMORROW)
    assert resets.find_reset("late") is None
