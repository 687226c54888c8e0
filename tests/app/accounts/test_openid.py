from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from joserfc.jwk import RSAKey

from tests.app.accounts.people import PASSWORD, Someone, client, stranger
from tests.app.accounts.provider import CLIENT_ID, CLIENT_SECRET, Provider, provider_running
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_SUBJECTS = count(1)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Provider]:
    with provider_running() as provider:
        yield provider


@pytest.fixture(scope="module")
def lab(elsewhere: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    settings = {
        "RL_LAB_AUTH": "on",
        "RL_LAB_BCRYPT_COST": "4",
        "RL_LAB_OIDC_ISSUER": elsewhere.address,
        "RL_LAB_OIDC_ID": CLIENT_ID,
        "RL_LAB_OIDC_SECRET": CLIENT_SECRET,
        "RL_LAB_OIDC_NAME": "University",
        "RL_LAB_GITHUB_ID": CLIENT_ID,
        "RL_LAB_GITHUB_SECRET": CLIENT_SECRET,
        "RL_LAB_GITHUB_URL": elsewhere.address,
    }
    with LabServer(tmp_path_factory.mktemp("openid"), free_port(), **settings) as server:
        Someone(server, "root@example.org").register()
        yield server


@pytest.fixture(autouse=True)
def _somebody_new(elsewhere: Provider) -> None:
    number = next(_SUBJECTS)
    elsewhere.person = {
        "sub": f"person-{number}",
        "email": f"elsewhere{number}@example.org",
        "email_verified": True,
        "name": "Emmy Noether",
    }
    elsewhere.lies = {}
    elsewhere.signs_with = elsewhere.key


def sign_in(browser: httpx.Client, provider: str = "oidc") -> httpx.Response:
    return browser.get(way_back(browser, provider))


def way_back(browser: httpx.Client, provider: str = "oidc") -> str:
    """Go to the provider, and return where it sends the browser."""
    left = browser.get(f"/auth/{provider}?next=/runs")
    assert left.status_code == 303, left.text
    return str(httpx.get(left.headers["location"]).headers["location"])


def me(browser: httpx.Client) -> dict[str, Any]:
    answer: dict[str, Any] = browser.get("/api/me").json()
    return answer


def test_the_login_page_offers_the_providers(lab: LabServer) -> None:
    page = client(lab.url).get("/login").text

    assert "Sign in with University" in page
    assert "Sign in with GitHub" in page
    assert "Google" not in page


@pytest.mark.parametrize("provider", ["oidc", "github"])
def test_somebody_new_gets_an_account_and_is_recognised_again(
    lab: LabServer, elsewhere: Provider, provider: str
) -> None:
    browser = client(lab.url)
    answer = sign_in(browser, provider)

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    found = me(browser)
    assert (found["email"], found["name"]) == (elsewhere.person["email"], "Emmy Noether")
    assert (found["has_password"], found["providers"]) == (False, [provider])
    again = client(lab.url)
    assert sign_in(again, provider).status_code == 303
    assert me(again)["id"] == found["id"]


def test_signing_in_again_while_signed_in_ends_the_old_session(lab: LabServer) -> None:
    browser = client(lab.url)
    sign_in(browser)
    old = browser.cookies["lab_session"]

    answer = sign_in(browser)

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    assert browser.cookies["lab_session"] != old
    assert browser.get("/api/me").status_code == 200
    assert client(lab.url, cookies={"lab_session": old}).get("/api/me").status_code == 401


def test_who_registers_meanwhile_has_the_address(lab: LabServer, elsewhere: Provider) -> None:
    root = Someone(lab, "root@example.org")
    root.login()
    codes = []
    root.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        for _ in range(2):
            codes.append(root.api.post("/admin/invitations", json={}).json()["code"])
        browser = client(lab.url)
        sign_in(browser)
        Someone(lab, elsewhere.person["email"]).register(invitation=codes[0])

        answer = browser.post("/auth/finish", data={"code": codes[1]})
    finally:
        root.api.patch("/admin/lab", json={"registration": "open"})

    assert answer.status_code == 422
    assert "There is an account with this address" in answer.text


def test_an_account_with_the_same_address_is_connected_by_its_password_alone(
    lab: LabServer, elsewhere: Provider
) -> None:
    owner = Someone(lab, elsewhere.person["email"]).register()
    browser = client(lab.url)

    asked = sign_in(browser)
    assert asked.status_code == 200
    assert f"Password of {owner.email} here" in asked.text
    assert browser.get("/api/me").status_code == 401
    wrong = browser.post("/auth/finish", data={"password": "not this one"})
    assert wrong.status_code == 401
    assert browser.get("/api/me").status_code == 401
    right = browser.post("/auth/finish", data={"password": PASSWORD})

    assert right.status_code == 303
    assert me(browser)["id"] == owner.me["id"]
    again = client(lab.url)
    assert sign_in(again).status_code == 303
    assert me(again)["id"] == owner.me["id"]


def test_who_is_signed_in_connects_an_account_by_password_whatever_its_address(
    lab: LabServer, elsewhere: Provider
) -> None:
    owner = Someone(lab, "connects@example.org").register()
    browser = client(lab.url, cookies=owner.api.cookies)
    elsewhere.person["email_verified"] = False

    assert "Password of connects@example.org" in sign_in(browser).text
    assert browser.post("/auth/finish", data={"password": PASSWORD}).status_code == 303

    again = client(lab.url)
    assert sign_in(again).status_code == 303
    assert me(again)["email"] == "connects@example.org"


def test_an_address_that_nobody_confirmed_proves_nothing(
    lab: LabServer, elsewhere: Provider
) -> None:
    elsewhere.person["email_verified"] = False
    browser = client(lab.url)

    answer = sign_in(browser)

    assert answer.status_code == 403
    assert "was not confirmed" in answer.text
    assert browser.get("/api/me").status_code == 401


@pytest.mark.parametrize(
    "lies",
    [
        {"nonce": "another"},
        {"aud": "another"},
        {"iss": "http://another.example"},
        {"exp": 1},
        {"sub": None},
    ],
)
def test_a_token_that_was_made_for_something_else_is_refused(
    lab: LabServer, elsewhere: Provider, lies: dict[str, Any]
) -> None:
    elsewhere.lies = lies
    browser = client(lab.url)

    answer = sign_in(browser)

    assert answer.status_code == 502
    assert "did not prove who you are" in answer.text
    assert browser.get("/api/me").status_code == 401


def test_a_token_that_somebody_else_signed_is_refused(lab: LabServer, elsewhere: Provider) -> None:
    elsewhere.signs_with = RSAKey.generate_key(2048, {"kid": "one"})

    assert sign_in(client(lab.url)).status_code == 502


def test_a_way_back_works_once_and_in_the_browser_that_left(lab: LabServer) -> None:
    left, other = client(lab.url), client(lab.url)
    address = way_back(left)

    kept = dict(left.cookies)

    assert other.get(address).status_code == 400
    assert left.get(address).status_code == 303
    assert "lab_elsewhere" not in left.cookies
    assert client(lab.url, cookies=kept).get(address).status_code == 400  # a copy of the cookie
    way_back(left)
    assert left.get(address).status_code == 400
    assert left.get("/auth/oidc/callback?code=x&state=forged").status_code == 400


def test_a_cookie_that_nobody_here_made_proves_nothing(lab: LabServer) -> None:
    left = client(lab.url)
    address = way_back(left)
    kept = left.cookies["lab_elsewhere"]
    changed = kept[:40] + ("A" if kept[40] != "A" else "B") + kept[41:]

    for forged in (changed, "", "x", "é"):
        headers = {"Cookie": f"lab_elsewhere={forged}".encode()}
        assert httpx.get(address, headers=headers).status_code == 400
        finish = httpx.post(f"{lab.url}/auth/finish", data={"password": "x"}, headers=headers)
        assert finish.status_code == 400
    # What was begun is not what was proven.
    finish = left.post("/auth/finish", data={"code": "x"})
    assert finish.status_code == 400


def test_a_way_back_belongs_to_the_provider_that_was_left_for(lab: LabServer) -> None:
    left = client(lab.url)
    address = way_back(left, "oidc")

    assert left.get(address.replace("/auth/oidc/", "/auth/github/")).status_code == 400


def test_strangers_do_not_push_out_who_is_on_their_way(lab: LabServer) -> None:
    left = client(lab.url)
    address = way_back(left)
    for number in range(1, 6):
        with stranger(lab.url, f"127.0.50.{number}") as crowd:
            for _ in range(210):
                assert crowd.get("/auth/oidc").status_code == 303

    assert left.get(address).status_code == 303


def test_a_failed_sign_in_elsewhere_is_written(lab: LabServer, elsewhere: Provider) -> None:
    elsewhere.lies = {"nonce": "another"}
    browser = stranger(lab.url, "127.0.78.1")
    sign_in(browser)
    browser.get("/auth/oidc/callback?code=x&state=forged")
    root = Someone(lab, "root@example.org")
    root.login()

    entries = root.api.get("/admin/audit?limit=10").json()["items"]

    failed = [one for one in entries if one["action"] == "sign_in_failed"]
    assert [(one["who"], one["subject"], one["data"]["reason"]) for one in failed[:2]] == [
        ("nobody", "University", "broken_sign_in"),
        ("nobody", "University", "provider_failed"),
    ]


def test_a_code_of_another_sign_in_is_refused_by_its_proof_key(
    lab: LabServer, elsewhere: Provider
) -> None:
    victim, attacker = client(lab.url), client(lab.url)
    stolen = httpx.URL(way_back(victim)).params["code"]
    own = httpx.URL(way_back(attacker))

    answer = attacker.get(str(own.copy_set_param("code", stolen)))

    assert answer.status_code == 502
    assert attacker.get("/api/me").status_code == 401


def test_new_accounts_need_an_invitation_where_others_do(
    lab: LabServer, elsewhere: Provider
) -> None:
    root = Someone(lab, "root@example.org")
    root.login()
    root.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        invitation = root.api.post("/admin/invitations", json={"role": "viewer"}).json()
        browser = client(lab.url)
        asked = sign_in(browser)
        assert "Invitation or set-up code" in asked.text
        assert browser.post("/auth/finish", data={"code": "wrong"}).status_code == 403
        came_in = browser.post("/auth/finish", data={"code": invitation["code"]})
    finally:
        root.api.patch("/admin/lab", json={"registration": "open"})

    assert came_in.status_code == 303
    assert me(browser)["role"] == "viewer"


def test_a_blocked_person_does_not_come_in_by_another_door(lab: LabServer) -> None:
    browser = client(lab.url)
    sign_in(browser)
    root = Someone(lab, "root@example.org")
    root.login()
    root.api.patch(f"/admin/people/{me(browser)['id']}", json={"blocked": True})

    again = client(lab.url)

    assert sign_in(again).status_code == 403
    assert again.get("/api/me").status_code == 401


def test_a_provider_that_nobody_set_up_is_named(lab: LabServer) -> None:
    answer = client(lab.url).get("/auth/facebook")

    assert answer.status_code == 404
    assert "Nobody signs in with" in answer.text
