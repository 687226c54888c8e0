"""What is written down of what people do, and of what strangers try."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.accounts.auth.sign_in import Caller
from app.accounts.errors import RegistrationRefusedError, TooManyError, WrongCredentialsError
from app.accounts.requests import Credentials, LabChanges, NewAccount
from app.accounts.users.accounts import Accounts
from app.accounts.visitors import Visitor
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from storage.database.accounts import audit
from storage.database.database import open_database
from storage.records.accounts import AuditRecord, Registration
from tests.app.accounts.people import PASSWORD, Someone, stranger
from tests.lab_server import LabServer


def entries(admin: Someone, **wanted: str) -> list[dict[str, Any]]:
    """Return what was written, oldest first, with these values."""
    items = admin.api.get("/admin/audit?limit=500").json()["items"]
    return [one for one in reversed(items) if all(one[k] == v for k, v in wanted.items())]


@pytest.mark.slow
def test_who_signs_out_and_what_becomes_of_their_things_is_written(
    admin: Someone, member: Someone, other: Someone
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
def test_what_administrators_do_with_runs_of_others_is_written(
    admin: Someone, member: Someone
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
def test_who_evaluates_runs_of_others_is_written(admin: Someone, member: Someone) -> None:
    run_id = member.create_run()
    for person in (member, admin):
        person.api.post(f"/runs/{run_id}/evaluations", json={"episodes": 1})

    written = entries(admin, subject=run_id, action="run_evaluations_changed")

    assert [one["who"] for one in written] == [admin.email]


@pytest.mark.slow
def test_refused_registrations_are_written_without_their_codes(
    admin: Someone, guarded: LabServer
) -> None:
    admin.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        body = {
            "email": "uninvited@example.org",
            "password": PASSWORD,
            "invitation": "MADE-UPCO-DEIS-HERE",
        }
        stranger(guarded.url, "127.0.77.1").post("/api/auth/register", json=body)
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


async def first(accounts: Accounts) -> Visitor:
    """Make an account, and return who may look after the lab."""
    wanted = NewAccount(email="root@example.org", password=PASSWORD)
    shown = await accounts.signing_in.register(wanted, Caller(address="10.0.0.1"))
    found = await accounts.passes.of_session(shown)
    assert found is not None
    return Visitor(found, "10.0.0.1")


async def written(accounts: Accounts) -> list[AuditRecord]:
    return list(reversed(await accounts.audit.read(before=None, limit=5_000)))


async def test_what_was_typed_as_an_address_is_not_written_if_it_is_nobodys(
    accounts: Accounts,
) -> None:
    await first(accounts)

    for email in ("my p@ssword, in the wrong field", "root@example.org"):
        with pytest.raises(WrongCredentialsError):
            await accounts.signing_in.login(
                Credentials(email=email, password="wrong"), Caller(address="10.0.0.2")
            )

    failed = [one for one in await written(accounts) if one.action == "sign_in_failed"]
    assert [(one.who, one.data["reason"]) for one in failed] == [
        ("nobody", "unknown_address"),
        ("root@example.org", "wrong_password"),
    ]


async def test_a_flood_of_strangers_is_written_as_its_beginning_and_its_size(
    accounts: Accounts,
) -> None:
    root = await first(accounts)
    await accounts.administration.change_lab(root, LabChanges(registration=Registration.CLOSED))
    refused = 0
    for address in range(40):
        for number in range(60):
            wanted = NewAccount(email=f"p{number}@example.org", password=PASSWORD)
            with pytest.raises((RegistrationRefusedError, TooManyError)) as answer:
                await accounts.signing_in.register(wanted, Caller(address=f"10.0.1.{address}"))
            refused += answer.type is RegistrationRefusedError

    before = len(await written(accounts))
    await accounts.audit.tidy(datetime.now(UTC))

    found = await written(accounts)
    attempts = [one for one in found if one.action == "registration_refused"]
    assert len(attempts) == 1_000
    assert {one.address for one in attempts[:60]} == {"10.0.1.0", "10.0.1.1"}
    assert len(found) == before + 1
    assert (found[-1].action, found[-1].data) == (audit.LEFT_OUT, {"count": refused - 1_000})
