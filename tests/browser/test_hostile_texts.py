"""User input is shown as text, to its author and to all other users."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.accounts.users import PASSWORD, ApiUser, client, new_user
from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

HOSTILE = (
    "<img src=/x onerror=window.hacked=1>{{window.hacked=1}}'\"><script>window.hacked=1</script>"
)
ADDRESS = '<svg/onload=window.hacked=1>"\'onclick="window.hacked=1"@example.org'


def sign_in(visit: Visit, user: ApiUser) -> None:
    cookie = {"name": "lab_session", "value": user.api.cookies["lab_session"]}
    visit.context.add_cookies([{**cookie, "url": visit.server.url}])  # type: ignore[list-item]


def check_no_injection(page: Page) -> None:
    """Check that no hostile text became an element or a script of the page."""
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src='/x'], svg[onload], [onclick*=hacked]").count() == 0


def open_and_check(visit: Visit, path: str) -> None:
    page = visit.open(path)
    page.wait_for_load_state("networkidle")
    check_no_injection(page)
    page.close()


def test_user_input_is_never_executed(browser: Browser, guarded: LabServer, admin: ApiUser) -> None:
    eve = ApiUser(guarded, ADDRESS).register(name=HOSTILE)
    run_id = eve.create_run(name=HOSTILE, tags=[HOSTILE[:30]])
    changes = {"visibility": "everyone", "notes": HOSTILE, "shared_with": [eve.email]}
    assert eve.api.patch(f"/runs/{run_id}", json=changes).status_code == 200
    assert eve.api.post("/me/tokens", json={"name": HOSTILE}).status_code == 201
    agent = {"User-Agent": HOSTILE}
    body = {"email": ADDRESS, "password": PASSWORD}
    assert eve.api.post("/auth/login", json=body, headers=agent).status_code == 200
    body = {"email": f"2{ADDRESS}", "password": PASSWORD, "invitation": HOSTILE}
    admin.api.patch("/admin/lab", json={"registration": "invite"})
    client(guarded.url).post("/api/auth/register", json=body)
    admin.api.patch("/admin/lab", json={"registration": "open"})

    visit = Visit(browser, guarded)
    quoted = quote(HOSTILE)
    for path in (
        f"/login?next=/{quoted}",
        f"/register?invitation={quoted}",
        f"/reset?code={quoted}",
        f"/auth/{quoted}",
    ):
        check_no_injection(visit.open(path))
    for user, paths in (
        (eve, ("/profile",)),
        (admin, ("/admin", "/runs", "/train", f"/runs/{run_id}", f"/runs/{quoted}", f"/{quoted}")),
    ):
        sign_in(visit, user)
        for path in paths:
            open_and_check(visit, path)
    page = visit.open("/admin")
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    page.get_by_role("button", name=f"New password {ADDRESS}").click()
    expect(page.locator(".lab-secret:visible").first).to_have_text(re.compile("/reset"))
    check_no_injection(page)
    visit.context.close()


def test_an_administrator_lets_a_user_set_a_new_password(
    browser: Browser, guarded: LabServer, admin: ApiUser
) -> None:
    member, new_password = new_user(guarded), "remembered from now on"
    visit = Visit(browser, guarded)
    sign_in(visit, admin)
    page = visit.open("/admin")

    page.get_by_role("button", name=f"New password {member.email}").click()
    link = page.locator(".lab-secret:visible").first
    expect(link).to_have_text(re.compile("/reset"))
    address = link.inner_text()

    visit.context.clear_cookies()
    page = visit.context.new_page()
    page.goto(address)
    page.get_by_role("textbox", name="New password").fill(new_password)
    page.get_by_role("button", name="Set password").click()
    page.get_by_role("button", name="Account").wait_for()
    assert member.api.get("/me").status_code == 401
    assert member.login(new_password).status_code == 200
    visit.context.close()
