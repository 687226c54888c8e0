"""Whatever people type is shown as text, to them and to everybody else."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.accounts.people import PASSWORD, Someone, client, newcomer
from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

HOSTILE = (
    "<img src=/x onerror=window.hacked=1>{{window.hacked=1}}'\"><script>window.hacked=1</script>"
)
ADDRESS = '<svg/onload=window.hacked=1>"\'onclick="window.hacked=1"@example.org'


def sign_in(visit: Visit, who: Someone) -> None:
    cookie = {"name": "lab_session", "value": who.api.cookies["lab_session"]}
    visit.context.add_cookies([{**cookie, "url": visit.server.url}])  # type: ignore[list-item]


def check(page: Page) -> None:
    """Make sure that nothing of it became part of the page."""
    assert page.evaluate("window.hacked") is None
    assert page.locator("img[src='/x'], svg[onload], [onclick*=hacked]").count() == 0


def look_at(visit: Visit, path: str) -> None:
    page = visit.open(path)
    page.wait_for_load_state("networkidle")
    check(page)
    page.close()


def test_what_people_type_runs_nowhere(
    browser: Browser, guarded: LabServer, admin: Someone
) -> None:
    eve = Someone(guarded, ADDRESS).register(name=HOSTILE)
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
    typed = quote(HOSTILE)
    for path in (
        f"/login?next=/{typed}",
        f"/register?invitation={typed}",
        f"/reset?code={typed}",
        f"/auth/{typed}",
    ):
        check(visit.open(path))
    for who, paths in (
        (eve, ("/profile",)),
        (admin, ("/admin", "/runs", "/train", f"/runs/{run_id}", f"/runs/{typed}", f"/{typed}")),
    ):
        sign_in(visit, who)
        for path in paths:
            look_at(visit, path)
    page = visit.open("/admin")
    expect(page.get_by_text(HOSTILE).first).to_be_visible()
    page.get_by_role("button", name=f"New password {ADDRESS}").click()
    expect(page.locator(".lab-secret:visible").first).to_have_text(re.compile("/reset"))
    check(page)
    visit.context.close()


def test_an_administrator_gives_somebody_a_new_password(
    browser: Browser, guarded: LabServer, admin: Someone
) -> None:
    person, new = newcomer(guarded), "remembered from now on"
    visit = Visit(browser, guarded)
    sign_in(visit, admin)
    page = visit.open("/admin")

    page.get_by_role("button", name=f"New password {person.email}").click()
    shown = page.locator(".lab-secret:visible").first
    expect(shown).to_have_text(re.compile("/reset"))
    address = shown.inner_text()

    visit.context.clear_cookies()
    page = visit.context.new_page()
    page.goto(address)
    page.get_by_role("textbox", name="New password").fill(new)
    page.get_by_role("button", name="Set password").click()
    page.get_by_role("button", name="Account").wait_for()
    assert person.api.get("/me").status_code == 401
    assert person.login(new).status_code == 200
    visit.context.close()
