import sqlite3
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.app.accounts.users import PASSWORD, ApiUser, client, code_of, setup_code
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


def test_the_first_account_is_an_administrator_and_later_ones_are_members(
    admin: ApiUser, member: ApiUser
) -> None:
    assert admin.me["role"] == "admin"
    assert member.me["role"] == "member"


def test_anonymous_clients_get_only_health_and_the_login_page(guarded: LabServer) -> None:
    anonymous = client(guarded.url)

    assert anonymous.get("/api/health").status_code == 200
    assert anonymous.get("/api/runs").status_code == 401
    assert anonymous.get("/api/openapi.json").status_code == 401
    assert anonymous.get("/api/docs").status_code == 401
    page = anonymous.get("/runs?q=1")
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=/runs%3Fq%3D1")


def test_the_cookie_is_inaccessible_to_scripts_and_other_sites(guarded: LabServer) -> None:
    answer = ApiUser(guarded, "root@example.org").login()

    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "path=/" in cookie
    assert "secure" not in cookie  # no https here; test_limits.py tests it


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"email": "no address", "password": PASSWORD}, "email"),
        ({"email": "a@example.org", "password": "short"}, "password"),
        ({"email": "a@example.org", "password": "x" * 73}, "password"),
        ({"email": "a@example.org", "password": "é" * 37}, "password"),
        ({"email": "a@example.org"}, "password"),
        ({"email": "a@example.org", "password": PASSWORD, "role": "admin"}, "role"),
        ({"email": "a@example.org", "password": PASSWORD, "name": "\n"}, "name"),
    ],
)
def test_an_invalid_registration_names_the_field_and_does_not_repeat_the_password(
    guarded: LabServer, body: dict[str, str], field: str
) -> None:
    answer = httpx.post(f"{guarded.url}/api/auth/register", json=body)

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field
    assert "xxx" not in answer.text


def test_all_72_bytes_of_a_password_count(guarded: LabServer) -> None:
    user = ApiUser(guarded, "long@example.org")
    user.register(password="x" * 71 + "a")

    assert user.login("x" * 71 + "b").status_code == 401
    assert user.login("x" * 71 + "a" + "more").status_code == 401
    assert user.login("x" * 71 + "a").status_code == 200


def test_addresses_are_compared_without_case_and_outer_spaces(guarded: LabServer) -> None:
    ApiUser(guarded, "  Big.Letters@Example.org ").register()

    same = ApiUser(guarded, "big.letters@example.org")
    assert same.login().status_code == 200
    assert same.me["email"] == "big.letters@example.org"
    taken = same.api.post(
        "/auth/register", json={"email": "BIG.letters@example.org", "password": PASSWORD}
    )
    assert (taken.status_code, code_of(taken)) == (422, "email_taken")


def test_a_refused_sign_in_does_not_reveal_what_was_wrong(
    guarded: LabServer, member: ApiUser
) -> None:
    wrong = ApiUser(guarded, member.email).login("not the password")
    unknown = ApiUser(guarded, "nobody@example.org").login("not the password")

    assert wrong.status_code == unknown.status_code == 401
    assert wrong.json() == unknown.json()
    assert "set-cookie" not in wrong.headers


def test_guessing_is_rate_limited_per_account_with_a_retry_time(
    guarded: LabServer, member: ApiUser
) -> None:
    answers = [ApiUser(guarded, member.email).login("guess number x") for _ in range(6)]

    assert [answer.status_code for answer in answers] == [401] * 5 + [429]
    assert int(answers[-1].headers["retry-after"]) > 0
    # The right password has to wait, too; existing sessions and other accounts are not affected.
    assert ApiUser(guarded, member.email).login().status_code == 429
    assert member.api.get("/me").status_code == 200
    assert ApiUser(guarded, "root@example.org").login().status_code == 200


def test_each_sign_in_sets_a_new_cookie_and_ends_the_session_of_the_old_one(
    member: ApiUser,
) -> None:
    first = member.api.cookies["lab_session"]
    member.login()
    second = member.api.cookies["lab_session"]

    assert first != second
    old = client(str(member.api.base_url), cookies={"lab_session": first})
    assert old.get("/me").status_code == 401
    assert member.api.get("/me").status_code == 200


def test_signing_out_ends_the_session_and_removes_the_cookie(member: ApiUser) -> None:
    token = member.api.cookies["lab_session"]

    assert member.api.post("/auth/logout").status_code == 204

    assert "lab_session" not in member.api.cookies
    ended = client(str(member.api.base_url), cookies={"lab_session": token})
    assert ended.get("/me").status_code == 401


def test_a_login_from_another_site_is_refused(member: ApiUser) -> None:
    body = {"email": member.email, "password": PASSWORD}

    answer = member.api.post("/auth/login", json=body, headers={"Origin": "http://evil.example"})

    assert answer.status_code == 403


def test_sessions_are_listed_and_ended_one_by_one(member: ApiUser) -> None:
    other = member.new_session()
    listed = member.api.get("/me/sessions").json()["items"]
    assert [one["current"] for one in listed].count(True) == 1
    (second,) = (one for one in listed if not one["current"])

    assert member.api.delete(f"/me/sessions/{second['id']}").status_code == 204

    assert other.api.get("/me").status_code == 401
    assert member.api.get("/me").status_code == 200
    assert member.api.delete(f"/me/sessions/{second['id']}").status_code == 404


def test_a_user_cannot_end_the_session_of_another_user(member: ApiUser, other: ApiUser) -> None:
    (session,) = member.api.get("/me/sessions").json()["items"]

    assert other.api.delete(f"/me/sessions/{session['id']}").status_code == 404
    assert member.api.get("/me").status_code == 200


def test_a_new_password_needs_the_old_one_and_ends_the_other_sessions(member: ApiUser) -> None:
    other, new = member.new_session(), "another good password"

    without = member.api.patch("/me", json={"password": new})
    wrong = member.api.patch("/me", json={"password": new, "current_password": "not this one"})
    assert (without.status_code, without.json()["error"]["field"]) == (422, "current_password")
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "current_password")
    changed = member.api.patch("/me", json={"password": new, "current_password": PASSWORD})

    assert changed.status_code == 200
    assert member.api.get("/me").status_code == 200
    assert other.api.get("/me").status_code == 401
    assert other.login().status_code == 401
    assert other.login(new).status_code == 200


def test_a_blocked_user_loses_access_at_once_until_unblocked(
    admin: ApiUser, member: ApiUser
) -> None:
    token, user_id = member.token("write"), member.me["id"]

    answer = admin.api.patch(f"/admin/people/{user_id}", json={"blocked": True})

    assert answer.json()["blocked"] is True
    assert member.api.get("/me").status_code == 401
    assert token.get("/me").status_code == 401
    assert member.login().status_code == 401
    admin.api.patch(f"/admin/people/{user_id}", json={"blocked": False})
    assert token.get("/me").status_code == 200
    assert member.login().status_code == 200


def test_a_stream_ends_when_its_user_is_signed_out(member: ApiUser) -> None:
    run_id = member.create_run()
    other = member.new_session()
    (session,) = (s for s in member.api.get("/me/sessions").json()["items"] if not s["current"])

    with other.api.stream("GET", f"/runs/{run_id}/stream") as stream:
        lines = stream.iter_lines()
        assert "status" in next(lines)
        member.api.delete(f"/me/sessions/{session['id']}")
        rest = list(lines)  # ends without an error

    assert not any("end" in line for line in rest)
    # At once: no keep-alive comment was sent in between.
    assert not any(line.startswith(":") for line in rest)


def test_a_token_is_shown_once_and_stored_as_a_digest(guarded: LabServer, member: ApiUser) -> None:
    created = member.api.post("/me/tokens", json={"name": "laptop"}).json()

    assert created["scope"] == "read"
    (listed,) = member.api.get("/me/tokens").json()["items"]
    assert "token" not in listed
    assert listed["last_used_at"] is None
    database = guarded.folder / "lab.db"
    stored = database.read_bytes() + database.with_name("lab.db-wal").read_bytes()
    assert created["token"].encode() not in stored
    assert member.api.cookies["lab_session"].encode() not in stored
    assert PASSWORD.encode() not in stored


def test_a_token_has_its_time_of_last_use_and_can_be_revoked(member: ApiUser) -> None:
    program = member.token("read")
    assert program.get("/me").json()["email"] == member.email

    (token,) = member.api.get("/me/tokens").json()["items"]
    assert token["last_used_at"] is not None
    assert member.api.delete(f"/me/tokens/{token['id']}").status_code == 204
    assert program.get("/me").status_code == 401


def test_a_read_token_writes_nothing_and_no_token_creates_tokens(member: ApiUser) -> None:
    reader, writer = member.token("read"), member.token("write")

    refused = reader.post("/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO"})
    assert (refused.status_code, code_of(refused)) == (403, "read_only_token")
    assert writer.patch("/me", json={"name": "By a program"}).status_code == 200
    assert writer.post("/me/tokens", json={"name": "more"}).status_code == 403


def test_a_token_cannot_change_passwords_or_end_tokens_and_sessions(member: ApiUser) -> None:
    writer = member.token("write")
    (token,) = member.api.get("/me/tokens").json()["items"]
    (session,) = member.api.get("/me/sessions").json()["items"]

    password = writer.patch("/me", json={"password": "mine now, thank you"})
    answers = (
        password,
        writer.delete(f"/me/tokens/{token['id']}"),
        writer.delete(f"/me/sessions/{session['id']}"),
    )

    assert [answer.status_code for answer in answers] == [403] * 3
    assert code_of(password) == "forbidden"
    assert member.new_session().me["id"] == member.me["id"]


def test_a_token_of_an_administrator_cannot_make_administrators(
    admin: ApiUser, member: ApiUser
) -> None:
    writer = admin.token("write")

    assert writer.post("/admin/invitations", json={"role": "admin"}).status_code == 403
    assert writer.post("/admin/invitations", json={"role": "member"}).status_code == 201
    path = f"/admin/people/{member.me['id']}"
    assert writer.patch(path, json={"role": "admin"}).status_code == 403
    assert writer.patch(path, json={"role": "member"}).status_code == 200


def test_a_token_gives_access_to_the_api_but_not_to_pages(
    guarded: LabServer, member: ApiUser
) -> None:
    program = member.token("write")

    assert program.get(f"{guarded.url}/runs").status_code == 303
    assert program.get(f"{guarded.url}/api/runs").status_code == 200


def test_the_hugging_face_token_is_stored_encrypted_and_never_returned(
    guarded: LabServer, member: ApiUser
) -> None:
    answer = member.api.patch("/me", json={"hf_token": "hf_very_secret"})

    assert answer.json()["has_hf_token"] is True
    assert "hf_very_secret" not in answer.text + member.api.get("/me").text
    stored = (guarded.folder / "lab.db-wal").read_bytes() + (guarded.folder / "lab.db").read_bytes()
    assert b"hf_very_secret" not in stored
    assert member.api.patch("/me", json={"hf_token": None}).json()["has_hf_token"] is False


def test_the_secret_is_readable_only_by_the_server(guarded: LabServer) -> None:
    mode = (guarded.folder / ".secret").stat().st_mode

    assert mode & 0o777 == 0o600


def test_an_invitation_allows_one_registration(admin: ApiUser, guarded: LabServer) -> None:
    admin.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        invited = admin.api.post("/admin/invitations", json={"role": "viewer"}).json()
        without = ApiUser(guarded, "guest@example.org")
        refused = without.api.post(
            "/auth/register", json={"email": without.email, "password": PASSWORD}
        )
        assert (refused.status_code, refused.json()["error"]["field"]) == (403, "invitation")

        guest = without.register(invitation=invited["code"].lower())

        assert guest.me["role"] == "viewer"
        body = {"email": "x@example.org", "password": PASSWORD, "invitation": invited["code"]}
        assert guest.api.post("/auth/register", json=body).status_code == 403
    finally:
        admin.api.patch("/admin/lab", json={"registration": "open"})


def test_a_closed_lab_refuses_registrations(admin: ApiUser, guarded: LabServer) -> None:
    admin.api.patch("/admin/lab", json={"registration": "closed"})
    try:
        answer = httpx.post(
            f"{guarded.url}/api/auth/register",
            json={"email": "late@example.org", "password": PASSWORD},
        )
    finally:
        admin.api.patch("/admin/lab", json={"registration": "open"})

    assert (answer.status_code, code_of(answer)) == (403, "registration_refused")


def test_the_last_administrator_keeps_the_role(admin: ApiUser) -> None:
    answer = admin.api.patch(f"/admin/people/{admin.me['id']}", json={"role": "member"})

    assert (answer.status_code, code_of(answer)) == (409, "last_admin")


def test_the_audit_log_lists_the_actions_of_each_user(admin: ApiUser, member: ApiUser) -> None:
    run_id = member.create_run(name="watched")
    member.api.patch(f"/runs/{run_id}", json={"visibility": "everyone"})

    entries = admin.api.get("/admin/audit?limit=500").json()["items"]

    theirs = [entry["action"] for entry in entries if entry["who"] == member.email]
    assert theirs == ["run_shared", "run_created", "signed_in", "registered"]
    newest = next(entry for entry in entries if entry["who"] == member.email)
    assert newest["address"] == "127.0.0.1"
    part = admin.api.get("/admin/audit?limit=1").json()
    assert admin.api.get(f"/admin/audit?limit=1&cursor={part['next']}").json()["items"] == [
        entries[1]
    ]


def test_a_server_on_the_network_requires_its_setup_code_and_then_invitations(
    start_server: Callable[..., LabServer],
) -> None:
    lab = start_server(RL_LAB_HOST="0.0.0.0", RL_LAB_BCRYPT_COST="4")
    code = setup_code(lab)
    first = ApiUser(lab, "first@example.org")
    body = {"email": first.email, "password": PASSWORD}

    without = first.api.post("/auth/register", json=body)
    wrong = first.api.post("/auth/register", json={**body, "setup_code": "AAAA-AAAA"})
    assert [without.status_code, wrong.status_code] == [403, 403]
    assert wrong.json()["error"]["field"] == "setup_code"
    first.register(setup_code=code)

    assert first.me["role"] == "admin"
    refused = ApiUser(lab, "second@example.org").api.post(
        "/auth/register",
        json={"email": "second@example.org", "password": PASSWORD, "setup_code": code},
    )
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "invitation")
    lab.terminate()
    lab.restart()
    assert first.login().status_code == 200


def test_without_accounts_the_account_routes_are_off(server: LabServer) -> None:
    for method, path in (("GET", "/me"), ("POST", "/auth/logout"), ("GET", "/admin/people")):
        answer = server.api.request(method, path)
        assert (answer.status_code, code_of(answer)) == (404, "accounts_off"), path


def test_without_accounts_no_account_can_be_created(server: LabServer) -> None:
    body = {"email": "early@example.org", "password": PASSWORD}
    browser = client(server.url)

    answers = (
        browser.post("/register", data=body),
        browser.post("/login", data=body),
        browser.get("/auth/oidc"),
        browser.get("/auth/oidc/callback?state=x&code=y"),
        browser.post("/auth/finish", data={"code": "x"}),
    )

    assert [answer.status_code for answer in answers] == [404] * 5
    assert all("has no accounts" in answer.text for answer in answers)
    with sqlite3.connect(server.folder / "lab.db") as database:
        assert database.execute("select count(*) from people").fetchone() == (0,)


_BROKEN_FORM = {
    "content": b"--x\r\nContent-Disposition: form-data\r\n\r\nhello",
    "headers": {"Content-Type": "multipart/form-data; boundary=x"},
}


@pytest.mark.parametrize("path", ["/login", "/register", "/reset"])
@pytest.mark.parametrize(
    ("sent", "status"),
    [({"files": {"password": ("a.txt", b"hello")}}, 422), (_BROKEN_FORM, 400)],
    ids=["a file", "a broken body"],
)
def test_an_unreadable_form_is_answered_with_a_page(
    guarded: LabServer, path: str, sent: dict[str, Any], status: int
) -> None:
    with client(guarded.url) as browser:
        answer = browser.post(path, **sent)

    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "text/html; charset=utf-8",
    )
    assert "The request can't be read" in answer.text
    assert f'href="{path}"' in answer.text
    assert "UploadFile" not in answer.text
