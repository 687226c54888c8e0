from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from joserfc.jwk import RSAKey

from tests.app.accounts.provider import CLIENT_ID, CLIENT_SECRET, Provider, provider_running
from tests.app.accounts.users import PASSWORD, ApiUser, client, client_at
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_SUBJECTS = count(1)


@pytest.fixture(scope="module")
def identity_provider() -> Iterator[Provider]:
    with provider_running() as provider:
        yield provider


@pytest.fixture(scope="module")
def lab(
    identity_provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    settings = {
        "RL_LAB_AUTH": "on",
        "RL_LAB_BCRYPT_COST": "4",
        "RL_LAB_OIDC_ISSUER": identity_provider.address,
        "RL_LAB_OIDC_ID": CLIENT_ID,
        "RL_LAB_OIDC_SECRET": CLIENT_SECRET,
        "RL_LAB_OIDC_NAME": "University",
        "RL_LAB_GITHUB_ID": CLIENT_ID,
        "RL_LAB_GITHUB_SECRET": CLIENT_SECRET,
        "RL_LAB_GITHUB_URL": identity_provider.address,
    }
    with LabServer(tmp_path_factory.mktemp("openid"), free_port(), **settings) as server:
        ApiUser(server, "root@example.org").register()
        yield server


@pytest.fixture(autouse=True)
def _new_user(identity_provider: Provider) -> None:
    number = next(_SUBJECTS)
    identity_provider.user = {
        "sub": f"person-{number}",
        "email": f"elsewhere{number}@example.org",
        "email_verified": True,
        "name": "Emmy Noether",
    }
    identity_provider.wrong_claims = {}
    identity_provider.signs_with = identity_provider.key


def sign_in(browser: httpx.Client, provider: str = "oidc") -> httpx.Response:
    return browser.get(callback_url(browser, provider))


def callback_url(browser: httpx.Client, provider: str = "oidc") -> str:
    """Sign in at the provider; return the address to which it redirects the browser."""
    redirect = browser.get(f"/auth/{provider}?next=/runs")
    assert redirect.status_code == 303, redirect.text
    return str(httpx.get(redirect.headers["location"]).headers["location"])


def me(browser: httpx.Client) -> dict[str, Any]:
    answer: dict[str, Any] = browser.get("/api/me").json()
    return answer


def test_the_login_page_offers_the_providers(lab: LabServer) -> None:
    page = client(lab.url).get("/login").text

    assert "Sign in with University" in page
    assert "Sign in with GitHub" in page
    assert "Google" not in page


@pytest.mark.parametrize("provider", ["oidc", "github"])
def test_a_new_user_gets_an_account_and_is_recognised_again(
    lab: LabServer, identity_provider: Provider, provider: str
) -> None:
    browser = client(lab.url)
    answer = sign_in(browser, provider)

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    account = me(browser)
    assert (account["email"], account["name"]) == (identity_provider.user["email"], "Emmy Noether")
    assert (account["has_password"], account["providers"]) == (False, [provider])
    second_browser = client(lab.url)
    assert sign_in(second_browser, provider).status_code == 303
    assert me(second_browser)["id"] == account["id"]


def test_signing_in_again_while_signed_in_ends_the_old_session(lab: LabServer) -> None:
    browser = client(lab.url)
    sign_in(browser)
    old = browser.cookies["lab_session"]

    answer = sign_in(browser)

    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    assert browser.cookies["lab_session"] != old
    assert browser.get("/api/me").status_code == 200
    assert client(lab.url, cookies={"lab_session": old}).get("/api/me").status_code == 401


def test_an_address_registered_during_the_sign_in_is_taken(
    lab: LabServer, identity_provider: Provider
) -> None:
    root = ApiUser(lab, "root@example.org")
    root.login()
    codes = []
    root.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        for _ in range(2):
            codes.append(root.api.post("/admin/invitations", json={}).json()["code"])
        browser = client(lab.url)
        sign_in(browser)
        ApiUser(lab, identity_provider.user["email"]).register(invitation=codes[0])

        answer = browser.post("/auth/finish", data={"code": codes[1]})
    finally:
        root.api.patch("/admin/lab", json={"registration": "open"})

    assert answer.status_code == 422
    assert "There is an account with this address" in answer.text


def test_connecting_an_account_with_the_same_address_requires_its_password(
    lab: LabServer, identity_provider: Provider
) -> None:
    owner = ApiUser(lab, identity_provider.user["email"]).register()
    browser = client(lab.url)

    page = sign_in(browser)
    assert page.status_code == 200
    assert f"Password of {owner.email} on this server" in page.text
    assert browser.get("/api/me").status_code == 401
    wrong = browser.post("/auth/finish", data={"password": "not this one"})
    assert wrong.status_code == 401
    assert browser.get("/api/me").status_code == 401
    right = browser.post("/auth/finish", data={"password": PASSWORD})

    assert right.status_code == 303
    assert me(browser)["id"] == owner.me["id"]
    second_browser = client(lab.url)
    assert sign_in(second_browser).status_code == 303
    assert me(second_browser)["id"] == owner.me["id"]


def test_a_signed_in_user_connects_an_account_with_any_address_by_password(
    lab: LabServer, identity_provider: Provider
) -> None:
    owner = ApiUser(lab, "connects@example.org").register()
    browser = client(lab.url, cookies=owner.api.cookies)
    identity_provider.user["email_verified"] = False

    assert "Password of connects@example.org" in sign_in(browser).text
    assert browser.post("/auth/finish", data={"password": PASSWORD}).status_code == 303

    second_browser = client(lab.url)
    assert sign_in(second_browser).status_code == 303
    assert me(second_browser)["email"] == "connects@example.org"


def test_an_unverified_address_is_refused(lab: LabServer, identity_provider: Provider) -> None:
    identity_provider.user["email_verified"] = False
    browser = client(lab.url)

    answer = sign_in(browser)

    assert answer.status_code == 403
    assert "is not verified" in answer.text
    assert browser.get("/api/me").status_code == 401


@pytest.mark.parametrize(
    "wrong_claims",
    [
        {"nonce": "another"},
        {"aud": "another"},
        {"iss": "http://another.example"},
        {"exp": 1},
        {"sub": None},
    ],
)
def test_an_id_token_with_wrong_claims_is_refused(
    lab: LabServer, identity_provider: Provider, wrong_claims: dict[str, Any]
) -> None:
    identity_provider.wrong_claims = wrong_claims
    browser = client(lab.url)

    answer = sign_in(browser)

    assert answer.status_code == 502
    assert "could not verify your identity" in answer.text
    assert browser.get("/api/me").status_code == 401


def test_an_id_token_signed_with_another_key_is_refused(
    lab: LabServer, identity_provider: Provider
) -> None:
    identity_provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})

    assert sign_in(client(lab.url)).status_code == 502


def test_a_callback_works_once_and_only_in_the_browser_that_started_the_sign_in(
    lab: LabServer,
) -> None:
    browser, other = client(lab.url), client(lab.url)
    address = callback_url(browser)

    cookies = dict(browser.cookies)

    assert other.get(address).status_code == 400
    assert browser.get(address).status_code == 303
    assert "lab_elsewhere" not in browser.cookies
    assert client(lab.url, cookies=cookies).get(address).status_code == 400  # a copy of the cookie
    callback_url(browser)
    assert browser.get(address).status_code == 400
    assert browser.get("/auth/oidc/callback?code=x&state=forged").status_code == 400


def test_a_forged_sign_in_cookie_is_refused(lab: LabServer) -> None:
    browser = client(lab.url)
    address = callback_url(browser)
    cookie = browser.cookies["lab_elsewhere"]
    changed = cookie[:40] + ("A" if cookie[40] != "A" else "B") + cookie[41:]

    for forged in (changed, "", "x", "é"):
        headers = {"Cookie": f"lab_elsewhere={forged}".encode()}
        assert httpx.get(address, headers=headers).status_code == 400
        finish = httpx.post(f"{lab.url}/auth/finish", data={"password": "x"}, headers=headers)
        assert finish.status_code == 400
    # A sign-in that has only begun proves nothing.
    finish = browser.post("/auth/finish", data={"code": "x"})
    assert finish.status_code == 400


def test_a_callback_is_valid_only_for_the_provider_of_its_sign_in(lab: LabServer) -> None:
    browser = client(lab.url)
    address = callback_url(browser, "oidc")

    assert browser.get(address.replace("/auth/oidc/", "/auth/github/")).status_code == 400


def test_many_sign_ins_of_other_clients_do_not_cancel_one_in_progress(lab: LabServer) -> None:
    browser = client(lab.url)
    address = callback_url(browser)
    for number in range(1, 6):
        with client_at(lab.url, f"127.0.50.{number}") as other:
            for _ in range(210):
                assert other.get("/auth/oidc").status_code == 303

    assert browser.get(address).status_code == 303


def test_a_failed_sign_in_at_a_provider_is_logged(
    lab: LabServer, identity_provider: Provider
) -> None:
    identity_provider.wrong_claims = {"nonce": "another"}
    browser = client_at(lab.url, "127.0.78.1")
    sign_in(browser)
    browser.get("/auth/oidc/callback?code=x&state=forged")
    root = ApiUser(lab, "root@example.org")
    root.login()

    entries = root.api.get("/admin/audit?limit=10").json()["items"]

    failed = [one for one in entries if one["action"] == "sign_in_failed"]
    assert [(one["who"], one["subject"], one["data"]["reason"]) for one in failed[:2]] == [
        ("nobody", "University", "broken_sign_in"),
        ("nobody", "University", "provider_failed"),
    ]


def test_an_authorization_code_of_another_sign_in_is_refused_by_its_proof_key(
    lab: LabServer, identity_provider: Provider
) -> None:
    victim, attacker = client(lab.url), client(lab.url)
    stolen = httpx.URL(callback_url(victim)).params["code"]
    own = httpx.URL(callback_url(attacker))

    answer = attacker.get(str(own.copy_set_param("code", stolen)))

    assert answer.status_code == 502
    assert attacker.get("/api/me").status_code == 401


def test_new_accounts_need_an_invitation_where_registration_requires_one(
    lab: LabServer, identity_provider: Provider
) -> None:
    root = ApiUser(lab, "root@example.org")
    root.login()
    root.api.patch("/admin/lab", json={"registration": "invite"})
    try:
        invitation = root.api.post("/admin/invitations", json={"role": "viewer"}).json()
        browser = client(lab.url)
        page = sign_in(browser)
        assert "Invitation or set-up code" in page.text
        assert browser.post("/auth/finish", data={"code": "wrong"}).status_code == 403
        finished = browser.post("/auth/finish", data={"code": invitation["code"]})
    finally:
        root.api.patch("/admin/lab", json={"registration": "open"})

    assert finished.status_code == 303
    assert me(browser)["role"] == "viewer"


def test_a_blocked_user_cannot_sign_in_through_a_provider(lab: LabServer) -> None:
    browser = client(lab.url)
    sign_in(browser)
    root = ApiUser(lab, "root@example.org")
    root.login()
    root.api.patch(f"/admin/people/{me(browser)['id']}", json={"blocked": True})

    second_browser = client(lab.url)

    assert sign_in(second_browser).status_code == 403
    assert second_browser.get("/api/me").status_code == 401


def test_an_unconfigured_provider_is_not_found(lab: LabServer) -> None:
    answer = client(lab.url).get("/auth/facebook")

    assert answer.status_code == 404
    assert "This server has no sign-in with" in answer.text
