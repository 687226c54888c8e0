"""Forgotten passwords: codes from administrators and from the console command."""

import sqlite3
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from app.cli import run_command
from tests.app.accounts.users import PASSWORD, ApiUser, client, client_at, code_of
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

NEW = "a password that is new"


def reset(guarded: LabServer, code: str, password: str = NEW) -> httpx.Response:
    return httpx.post(f"{guarded.url}/api/auth/reset", json={"code": code, "password": password})


def code_for(admin: ApiUser, user: ApiUser) -> str:
    answer = admin.api.post(f"/admin/people/{user.me['id']}/reset")
    assert answer.status_code == 201, answer.text
    code: str = answer.json()["code"]
    return code


def test_a_code_sets_a_new_password_once_and_ends_every_session(
    guarded: LabServer, admin: ApiUser, member: ApiUser
) -> None:
    token, code = member.token("read"), code_for(admin, member)
    assert member.api.get("/me").status_code == 200

    result = reset(guarded, f" {code.lower()} ")

    assert (result.status_code, result.json()["email"]) == (200, member.email)
    browser = client(f"{guarded.url}/api", cookies=result.cookies)
    assert browser.get("/me").status_code == 200
    assert member.api.get("/me").status_code == 401
    assert token.get("/me").status_code == 200
    assert ApiUser(guarded, member.email).login().status_code == 401
    assert ApiUser(guarded, member.email).login(NEW).status_code == 200
    assert code_of(reset(guarded, code)) == "reset_refused"


def test_a_code_is_stored_as_a_digest_and_its_use_is_logged(
    guarded: LabServer, admin: ApiUser, member: ApiUser
) -> None:
    code = code_for(admin, member)
    reset(guarded, code)

    items = admin.api.get("/admin/audit?limit=20").json()["items"]
    written = [(one["who"], one["action"], one["subject"]) for one in items]
    assert (admin.email, "reset_made", member.email) in written
    assert (member.email, "password_reset", "") in written
    assert code not in str(items)
    database = guarded.folder / "lab.db"
    stored = database.read_bytes() + database.with_name("lab.db-wal").read_bytes()
    assert code.encode() not in stored
    assert NEW.encode() not in stored


def test_a_refused_password_does_not_use_up_the_code(
    guarded: LabServer, admin: ApiUser, member: ApiUser
) -> None:
    code = code_for(admin, member)

    assert reset(guarded, code, "short").status_code == 422
    assert reset(guarded, code).status_code == 200


def test_a_newer_code_expiry_and_blocking_invalidate_a_code(
    guarded: LabServer, admin: ApiUser, member: ApiUser
) -> None:
    old = code_for(admin, member)
    late = code_for(admin, member)
    assert reset(guarded, old).status_code == 403
    with sqlite3.connect(guarded.folder / "lab.db") as database:
        past = datetime.now(UTC).replace(tzinfo=None) - timedelta(minutes=1)
        database.execute("update resets set expires_at = ?", (str(past),))
    assert reset(guarded, late).status_code == 403

    user_id, code = member.me["id"], code_for(admin, member)
    admin.api.patch(f"/admin/people/{user_id}", json={"blocked": True})
    assert reset(guarded, code).status_code == 403
    assert admin.api.post(f"/admin/people/{user_id}/reset").status_code == 403
    admin.api.patch(f"/admin/people/{user_id}", json={"blocked": False})
    assert reset(guarded, code).status_code == 403


def test_tokens_and_members_cannot_create_reset_codes(admin: ApiUser, member: ApiUser) -> None:
    path = f"/admin/people/{member.me['id']}/reset"

    assert admin.token("write").post(path).status_code == 403
    assert member.api.post(path).status_code == 403


def test_the_page_takes_the_code_from_its_url(
    guarded: LabServer, admin: ApiUser, member: ApiUser
) -> None:
    address = admin.api.post(f"/admin/people/{member.me['id']}/reset").json()["url"]
    browser = client(guarded.url)
    code = httpx.URL(address).params["code"]
    assert f'value="{code}"' in browser.get(address).text

    wrong = browser.post("/reset", data={"code": "AAAA-AAAA-AAAA-AAAA", "password": NEW})
    assert (wrong.status_code, "unknown, used or expired" in wrong.text) == (403, True)
    result = browser.post("/reset", data={"code": code, "password": NEW})

    assert (result.status_code, result.headers["location"]) == (303, "/")
    assert browser.get("/api/me").json()["email"] == member.email


def test_guessing_codes_is_rate_limited(guarded: LabServer) -> None:
    with client_at(f"{guarded.url}/api", "127.0.99.1") as guesser:
        answers = [
            guesser.post("/auth/reset", json={"code": f"AAAA-{n}", "password": NEW}).status_code
            for n in range(21)
        ]

    assert answers == [403] * 20 + [429]


def test_a_console_command_resets_the_password_of_an_administrator(
    guarded: LabServer, admin: ApiUser, capsys: pytest.CaptureFixture[str]
) -> None:
    second = ApiUser(guarded, "locked-out@example.org").register()
    admin.api.patch(f"/admin/people/{second.me['id']}", json={"role": "admin"})

    result = run_command(
        ["reset-password", "Locked-Out@example.org", "--runs-dir", str(guarded.folder)]
    )

    output = capsys.readouterr().out
    assert result == 0
    code = output.splitlines()[0].removeprefix("Code: ")
    assert reset(guarded, code).json()["role"] == "admin"
    items = admin.api.get("/admin/audit?limit=20").json()["items"]
    assert ("console", "reset_made") in [(one["who"], one["action"]) for one in items]
    user_id = next(one for one in items if one["action"] == "password_reset")["person_id"]
    admin.api.patch(f"/admin/people/{user_id}", json={"role": "member"})


def test_the_console_command_refuses_an_unknown_address(
    guarded: LabServer, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    for folder in (guarded.folder, tmp_path):
        result = run_command(["reset-password", "nobody@example.org", "--runs-dir", str(folder)])

        assert result == 2
        assert "There is no user with the address" in capsys.readouterr().err


def test_the_old_password_is_valid_until_the_code_is_used(
    guarded: LabServer, admin: ApiUser, member: ApiUser
) -> None:
    code_for(admin, member)

    assert ApiUser(guarded, member.email).login(PASSWORD).status_code == 200


@pytest.mark.parametrize("change", [{"role": "member"}, {"blocked": True}])
def test_codes_and_invitations_of_a_former_administrator_are_invalid(
    guarded: LabServer, admin: ApiUser, member: ApiUser, change: dict[str, object]
) -> None:
    former = ApiUser(guarded, f"former-{next(iter(change))}@example.org").register()
    path = f"/admin/people/{former.me['id']}"
    admin.api.patch(path, json={"role": "admin"})
    invited = former.api.post("/admin/invitations", json={"role": "admin"}).json()["code"]
    code = code_for(former, member)

    admin.api.patch(path, json=change)

    assert reset(guarded, code).status_code == 403
    admin.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        body = {"email": "back@example.org", "password": PASSWORD, "invitation": invited}
        answer = httpx.post(f"{guarded.url}/api/auth/register", json=body)
    finally:
        admin.api.patch("/admin/lab", json={"registration": "open"})
    assert code_of(answer) == "registration_refused"
