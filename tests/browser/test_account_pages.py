import io
import re
from collections.abc import Iterator

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.app.accounts.users import PASSWORD, ApiUser, client, new_user
from tests.browser.conftest import Visit
from tests.lab_server import LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_TIMEOUT_MS = 30_000


@pytest.fixture
def member(guarded: LabServer) -> ApiUser:
    return new_user(guarded)


@pytest.fixture
def page(browser: Browser, guarded: LabServer, member: ApiUser) -> Iterator[Page]:
    """The training page with `member` signed in."""
    visit = Visit(browser, guarded)
    yield signed_in(visit, member, "/train")
    visit.context.close()


def signed_in(visit: Visit, user: ApiUser, path: str) -> Page:
    cookie = {"name": "lab_session", "value": user.api.cookies["lab_session"]}
    visit.context.add_cookies([{**cookie, "url": visit.server.url}])  # type: ignore[list-item]
    return visit.open(path)


def test_signing_in_by_keyboard_opens_the_requested_page(
    browser: Browser, guarded: LabServer, member: ApiUser
) -> None:
    visit = Visit(browser, guarded)
    page = visit.open("/runs")
    assert page.url == f"{guarded.url}/login?next=/runs"
    expect(page.get_by_label("Password")).to_have_attribute("autocomplete", "current-password")

    page.keyboard.type(member.email)
    page.keyboard.press("Tab")
    page.keyboard.type("not the password")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The e-mail address or the password is wrong.")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")

    page.wait_for_url("**/runs")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_text(f"{member.email} · member")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    # With or without `next`: the page may be notified first that its session has ended.
    page.wait_for_url(re.compile("/login"))
    another = visit.context.new_page()
    another.goto(f"{guarded.url}/runs")
    assert "/login" in another.url
    visit.context.close()


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_signing_in_never_redirects_to_another_site(
    guarded: LabServer, member: ApiUser, target: str
) -> None:
    form = {"email": member.email, "password": PASSWORD, "next": target}

    answer = client(guarded.url).post("/login", data=form)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_an_open_page_redirects_to_sign_in_when_its_user_is_blocked(
    page: Page, member: ApiUser, admin: ApiUser
) -> None:
    user_id = member.me["id"]
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()

    admin.api.patch(f"/admin/people/{user_id}", json={"blocked": True})

    page.wait_for_url("**/login?next=**", timeout=_TIMEOUT_MS)


def test_a_button_is_refused_to_a_user_who_lost_the_right(
    page: Page, member: ApiUser, admin: ApiUser
) -> None:
    expect(page.get_by_role("button", name="Train", exact=True)).to_be_visible()
    admin.api.patch(f"/admin/people/{member.me['id']}", json={"role": "viewer"})

    page.get_by_role("button", name="Train", exact=True).click()

    expect(page.get_by_text("Viewers have read-only access.")).to_be_visible(timeout=_TIMEOUT_MS)
    assert member.api.get("/runs", params={"owner": member.email}).json()["items"] == []


def test_users_change_their_name_and_manage_their_tokens(page: Page, member: ApiUser) -> None:
    page.goto(f"{member.server.url}/profile")
    page.get_by_label("Name", exact=True).fill("Grace Hopper")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert member.me["name"] == "Grace Hopper"

    page.get_by_label("Name of the token").fill("laptop")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator(".lab-secret:visible").first
    expect(secret).to_have_text(re.compile("rll_"))
    headers = {"Authorization": f"Bearer {secret.inner_text()}"}
    program = client(f"{member.server.url}/api", headers=headers)
    assert program.get("/me").json()["name"] == "Grace Hopper"
    page.get_by_role("button", name="Revoke laptop").click()
    expect(page.get_by_role("button", name="Revoke laptop")).to_have_count(0)
    assert program.get("/me").status_code == 401


def test_secrets_are_stored_and_passwords_changed_on_the_profile_page(
    page: Page, member: ApiUser
) -> None:
    page.goto(f"{member.server.url}/profile")
    page.get_by_label("Hugging Face token").fill("hf_secret")
    page.get_by_role("button", name="Save token").click()
    expect(page.get_by_text("A token is stored, encrypted.")).to_be_visible()
    expect(page.get_by_label("Hugging Face token")).to_have_value("")
    assert "hf_secret" not in page.content()

    page.get_by_label("Current password").fill("not this one")
    page.get_by_label("New password").fill("a wholly new password")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("The current password is wrong.")).to_be_visible()
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("Password changed.")).to_be_visible()
    assert member.login("a wholly new password").status_code == 200


def test_an_avatar_is_scaled_down_and_stripped_of_metadata(
    page: Page, member: ApiUser, guarded: LabServer
) -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    buffer = io.BytesIO()
    Image.new("RGB", (640, 480), "red").save(buffer, format="JPEG", exif=exif)
    page.goto(f"{guarded.url}/profile")
    expect(page.get_by_role("button", name="Choose a picture")).to_be_visible()

    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a picture").click()
    chooser.value.set_files(
        [{"name": "me.jpg", "mimeType": "image/jpeg", "buffer": buffer.getvalue()}]
    )

    expect(page.get_by_alt_text("Your picture")).to_be_visible(timeout=_TIMEOUT_MS)
    stored = member.api.get(f"{guarded.url}{member.me['avatar_url']}")
    assert stored.headers["content-type"] == "image/png"
    assert b"taken at home" not in stored.content
    with Image.open(io.BytesIO(stored.content)) as picture:
        assert picture.size == (128, 128)
    refused = member.api.put("/me/avatar", content=b"<svg onload=alert(1)>")
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "avatar")


def test_an_administrator_invites_a_user_who_then_registers(
    browser: Browser, guarded: LabServer, admin: ApiUser
) -> None:
    visit = Visit(browser, guarded)
    page = signed_in(visit, admin, "/admin")
    admin.api.patch("/admin/lab", json={"registration": "invite"})
    page.get_by_role("button", name="Invite").click()
    link = page.locator(".lab-secret:visible")
    expect(link).to_have_text(re.compile("/register"))
    guest = browser.new_context().new_page()
    guest.goto(link.inner_text())

    guest.get_by_label("E-mail").fill("invited@example.org")
    guest.get_by_label("Password").fill("short")
    expect(guest.get_by_label("Password")).to_have_attribute("autocomplete", "new-password")
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Create account").click()

    guest.wait_for_url(re.compile("/$"), timeout=_TIMEOUT_MS)
    admin.api.patch("/admin/lab", json={"registration": "open"})
    page.reload()
    expect(page.get_by_text("invited@example.org").first).to_be_visible()
    expect(page.get_by_label("Audit log").get_by_text("invited", exact=True).first).to_be_visible()
    guest.context.close()
    visit.close()


def test_a_run_is_shared_from_the_run_list(page: Page, member: ApiUser, guarded: LabServer) -> None:
    friend = new_user(guarded)
    run_id = member.create_run(name="shared by hand")
    page.goto(f"{guarded.url}/runs")
    row = page.get_by_role("row", name=re.compile("shared by hand"))
    row.get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Share").click()
    page.get_by_label("E-mail addresses").fill("nobody@example.org")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(
        page.get_by_text("There is no user with the address 'nobody@example.org'.")
    ).to_be_visible()

    page.get_by_label("E-mail addresses").fill(friend.email)
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_label("E-mail addresses")).to_have_count(0)
    assert friend.api.get(f"/runs/{run_id}").status_code == 200
    assert friend.api.delete(f"/runs/{run_id}").status_code == 403


def test_restoring_a_deleted_run_is_in_the_audit_log(
    page: Page, member: ApiUser, admin: ApiUser, guarded: LabServer
) -> None:
    run_id = member.create_run(name="missed at once")
    page.goto(f"{guarded.url}/runs")
    row = page.get_by_role("row", name=re.compile("missed at once"))
    row.get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name="Delete").click()
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()

    items = admin.api.get("/admin/audit?limit=20").json()["items"]

    actions = [entry["action"] for entry in items if entry["subject"] == run_id]
    assert actions == ["run_restored", "run_deleted", "run_created"]
