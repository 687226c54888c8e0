"""The audit log: actions of users and attempts of anonymous clients."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.accounts.auth.sign_in import Caller
from app.accounts.errors import RegistrationRefusedError, TooManyError, WrongCredentialsError
from app.accounts.principals import Principal
from app.accounts.requests import Credentials, LabChanges, NewAccount
from app.accounts.users.accounts import Accounts
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from storage.database.accounts import audit
from storage.database.database import open_database
from storage.records.accounts import AuditRecord, Registration
from tests.app.accounts.users import PASSWORD, ApiUser, client_at
from tests.lab_server import LabServer


def entries(admin: ApiUser, **values: str) -> list[dict[str, Any]]:
    """Return the log's entries with these values, oldest first."""
    items = admin.api.get("/admin/audit?limit=500").json()["items"]
    return [one for one in reversed(items) if all(one[k] == v for k, v in values.items())]


@pytest.mark.slow
def test_sign_outs_and_changes_of_runs_tokens_and_passwords_are_logged(
    admin: ApiUser, member: ApiUser, other: ApiUser
) -> None:
    run_id = member.create_run(name="watched")
    member.api.patch(f"/runs/{run_id}", json={"shared_with": [other.email]})
    token = member.api.post("/me/tokens", json={"name": "laptop", "scope": "write"}).json()
    member.api.delete(f"/me/tokens/{token['id']}")
    new = {"password": "another good password", "current_password": PASSWORD}
    member.api.patch("/me", json=new)
    member.api.post("/auth/logout")

    written = entries(admin, who=member.email)

    assert [one["action"] for one in written[2:]] == [
        "run_created",
        "run_shared",
        "token_created",
        "token_revoked",
        "password_changed",
        "signed_out",
    ]
    assert written[3]["data"] == {"visibility": "private", "people": other.email}
    assert {one["address"] for one in written[2:]} == {"127.0.0.1"}
    everything = str(written)
    assert token["token"] not in everything
    assert "good password" not in everything


@pytest.mark.slow
def test_administrators_changes_to_runs_of_other_users_are_logged(
    admin: ApiUser, member: ApiUser
) -> None:
    run_id = member.create_run(name="not yours")
    member.api.patch(f"/runs/{run_id}", json={"notes": "my own"})
    for verb in ("start", "stop"):
        assert admin.api.post(f"/runs/{run_id}/{verb}").status_code == 202
    admin.api.patch(f"/runs/{run_id}", json={"name": "mine now", "notes": "a secret remark"})
    admin.api.patch(f"/runs/{run_id}", json={"visibility": "everyone"})
    admin.api.delete(f"/runs/{run_id}")

    written = entries(admin, subject=run_id)

    assert [(one["who"], one["action"]) for one in written] == [
        (member.email, "run_created"),
        (admin.email, "run_started"),
        (admin.email, "run_stopped"),
        (admin.email, "run_changed"),
        (admin.email, "run_shared"),
        (admin.email, "run_deleted"),
    ]
    assert written[3]["data"] == {"changed": "name, notes", "owner": member.email}
    assert {one["data"].get("owner") for one in written[1:]} == {member.email}


@pytest.mark.slow
def test_refused_actions_of_administrators_on_runs_of_other_users_are_not_logged(
    admin: ApiUser, member: ApiUser
) -> None:
    run_id = member.create_run()
    for verb in ("pause", "resume"):
        assert admin.api.post(f"/runs/{run_id}/{verb}").status_code == 409

    assert [one["action"] for one in entries(admin, subject=run_id)] == ["run_created"]


@pytest.mark.slow
def test_evaluations_of_runs_of_other_users_are_logged(admin: ApiUser, member: ApiUser) -> None:
    run_id = member.create_run()
    for user in (member, admin):
        user.api.post(f"/runs/{run_id}/evaluations", json={"episodes": 1})

    written = entries(admin, subject=run_id, action="run_evaluations_changed")

    assert [one["who"] for one in written] == [admin.email]


@pytest.mark.slow
def test_refused_registrations_are_logged_without_their_codes(
    admin: ApiUser, guarded: LabServer
) -> None:
    admin.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        body = {
            "email": "uninvited@example.org",
            "password": PASSWORD,
            "invitation": "MADE-UPCO-DEIS-HERE",
        }
        client_at(guarded.url, "127.0.77.1").post("/api/auth/register", json=body)
    finally:
        admin.api.patch("/admin/lab", json={"registration": "open"})

    (written,) = entries(admin, who="uninvited@example.org")

    assert (written["action"], written["data"]) == (
        "registration_refused",
        {"reason": "invitation"},
    )
    assert "MADE" not in str(written)


@pytest.fixture
async def accounts(tmp_path: Path) -> AsyncIterator[Accounts]:
    storage = StorageThread()
    database = storage.call(open_database, tmp_path / "lab.db")
    accounts = Accounts(Settings(auth="on", bcrypt_cost=4), storage, secret=b"secret")
    yield accounts
    await accounts.close()
    storage.call(database.close)
    storage.close()


async def first_administrator(accounts: Accounts) -> Principal:
    """Create the first account, which is an administrator."""
    new_account = NewAccount(email="root@example.org", password=PASSWORD)
    token = await accounts.signing_in.register(new_account, Caller(address="10.0.0.1"))
    session = await accounts.passes.of_session(token)
    assert session is not None
    return Principal(session, "10.0.0.1")


async def log_entries(accounts: Accounts) -> list[AuditRecord]:
    return list(reversed(await accounts.audit.read(before=None, limit=5_000)))


async def test_an_unknown_address_typed_at_sign_in_is_not_logged(
    accounts: Accounts,
) -> None:
    await first_administrator(accounts)

    for email in ("my p@ssword, in the wrong field", "root@example.org"):
        with pytest.raises(WrongCredentialsError):
            await accounts.signing_in.login(
                Credentials(email=email, password="wrong"), Caller(address="10.0.0.2")
            )

    failed = [one for one in await log_entries(accounts) if one.action == "sign_in_failed"]
    assert [(one.who, one.data["reason"]) for one in failed] == [
        ("nobody", "unknown_address"),
        ("root@example.org", "wrong_password"),
    ]


async def test_a_flood_of_anonymous_attempts_is_logged_up_to_a_limit_and_then_counted(
    accounts: Accounts,
) -> None:
    root = await first_administrator(accounts)
    await accounts.administration.change_lab(root, LabChanges(registration=Registration.CLOSED))
    refused = 0
    for address in range(40):
        for number in range(60):
            new_account = NewAccount(email=f"p{number}@example.org", password=PASSWORD)
            with pytest.raises((RegistrationRefusedError, TooManyError)) as answer:
                await accounts.signing_in.register(new_account, Caller(address=f"10.0.1.{address}"))
            refused += answer.type is RegistrationRefusedError

    before = len(await log_entries(accounts))
    await accounts.audit.tidy(datetime.now(UTC))

    logged = await log_entries(accounts)
    attempts = [one for one in logged if one.action == "registration_refused"]
    assert len(attempts) == 1_000
    assert {one.address for one in attempts[:60]} == {"10.0.1.0", "10.0.1.1"}
    assert len(logged) == before + 1
    assert (logged[-1].action, logged[-1].data) == (
        audit.OMITTED_ATTEMPTS,
        {"count": refused - 1_000},
    )
