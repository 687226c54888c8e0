"""The code editor in a real browser: Monaco on a wide screen, CodeMirror on a phone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.editor_page import TEXT
from tests.conftest import free_port
from tests.lab_server import ROOT, end, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.browser]

_PHONE = 390
_AXE = ROOT / "assets" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.browser.editor_page", str(port)],
        cwd=ROOT,
        env={"PATH": "", "NICEGUI_STORAGE_PATH": str(tmp_path_factory.mktemp("storage"))},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    url = f"http://127.0.0.1:{port}/"
    try:
        wait_until(lambda: _answers(url), within=60)
        yield url
    finally:
        end(process)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module", params=[1440, _PHONE])
def opened(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": request.param, "height": 900})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on(
        "console",
        lambda message: problems.append(message.text) if message.type == "error" else None,
    )
    page.on("request", lambda request: _check_host(request.url, address, problems))
    page.goto(address)
    expect(editor(page)).to_have_attribute("aria-busy", "false", timeout=30_000)
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def page(opened: Page) -> Page:
    """The editor, reset to its initial text."""
    opened.get_by_role("button", name="Begin again").click()
    expect(text_on_the_server(opened)).to_have_text(repr(TEXT))
    expect(opened.locator(".lab-code-status").first).to_have_text("No problems")
    return opened


def _check_host(url: str, address: str, problems: list[str]) -> None:
    if urlsplit(url).netloc not in ("", urlsplit(address).netloc):
        problems.append(f"a request to {url}")


def editor(page: Page) -> Locator:
    return page.locator(".lab-code-place").first


def type_at_the_end(page: Page, text: str) -> None:
    page.locator(".view-lines, .cm-content").first.click()
    page.keyboard.press("Control+End")
    page.keyboard.type(text, delay=20)


def text_on_the_server(page: Page) -> Locator:
    page.get_by_role("button", name="Read").click()
    return page.locator(".server-text")


def test_a_syntax_error_is_underlined_and_listed_while_typing(page: Page) -> None:
    status = page.locator(".lab-code-status").first
    expect(status).to_have_text("No problems")

    type_at_the_end(page, "y = (1 +")

    expect(page.locator(".squiggly-error, .lab-squiggle.is-error").first).to_be_visible()
    expect(status).to_have_text("1 problem")
    page.get_by_role("button", name="Line 3").click()
    page.keyboard.press("Control+a")
    page.keyboard.type("x = 1")
    expect(status).to_have_text("No problems")
    expect(page.locator(".squiggly-error, .lab-squiggle.is-error")).to_have_count(0)


def test_a_dot_completes_the_parts_of_the_name_before_it(page: Page) -> None:
    type_at_the_end(page, "x = obs.")

    completions = page.locator(".suggest-widget, .cm-tooltip-autocomplete")
    expect(completions.get_by_text("pole_angle")).to_be_visible()
    page.keyboard.type("car", delay=20)
    expect(completions.get_by_text("pole_angle")).not_to_be_visible()
    expect(completions.get_by_text("cart_position").first).to_be_visible()
    # CodeMirror ignores keys in the first 75 ms of a list, which the user can't have seen yet.
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")

    expect(text_on_the_server(page)).to_contain_text("x = obs.cart_position")


def test_ctrl_s_saves_and_format_reformats_the_code(page: Page) -> None:
    type_at_the_end(page, "z=1")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("Saved 3 lines")).to_be_visible()

    page.get_by_role("button", name="Format").click()
    expect(page.locator(".lab-code-status").first).to_have_text("Formatted")
    expect(text_on_the_server(page)).to_contain_text('return {"a": 1.0}')
    expect(text_on_the_server(page)).to_contain_text("z = 1")
    page.get_by_role("button", name="Undo").first.click()
    expect(text_on_the_server(page)).to_contain_text("return {'a':1.0}")


def test_the_server_replaces_the_code_shows_a_diff_and_reveals_a_line(page: Page) -> None:
    page.get_by_role("button", name="Write").click()
    expect(editor(page)).to_contain_text("x = 1")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_text("Compared with the default")).to_be_visible()
    expect(editor(page)).to_contain_text("def")
    page.get_by_role("button", name="Compare no more").click()
    expect(editor(page)).not_to_contain_text("def")

    page.get_by_role("button", name="Second line").click()
    expect(editor(page).locator(":focus")).to_have_count(1)
    page.keyboard.type("second = 2")
    expect(text_on_the_server(page)).to_have_text(r"'x = 1\nsecond = 2'")


def test_tab_indents_until_escape_lets_it_move_the_focus(page: Page) -> None:
    type_at_the_end(page, "if x:\n")
    page.keyboard.press("Tab")
    page.keyboard.type("pass")
    hint = page.get_by_text("Tab leaves the editor now")
    while not hint.is_visible():
        # The first press may close the completions.
        page.keyboard.press("Escape")
        page.wait_for_timeout(100)
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.closest('.lab-code-place')") is None


def test_the_code_of_a_run_is_read_only(page: Page) -> None:
    page.get_by_role("button", name="Open a run").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".lab-code-place")).to_contain_text("locked", timeout=30_000)
    dialog.locator(".view-lines, .cm-content").click()
    page.keyboard.type("changed")

    expect(dialog.locator(".lab-code-place")).not_to_contain_text("changed")
    expect(dialog.get_by_role("button", name="Undo")).not_to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


@pytest.mark.skipif(not _AXE.is_file(), reason="axe-core isn't installed: make setup-test")
def test_the_editor_has_no_serious_accessibility_violation(page: Page) -> None:
    type_at_the_end(page, "y = (1 +  # half of it")
    expect(page.locator(".lab-code-status").first).to_have_text("1 problem")
    page.add_script_tag(path=Path(_AXE))
    for _ in range(2):
        violations = page.evaluate("axe.run(document.querySelector('.lab-code'))")["violations"]
        serious = [(each["id"], each["nodes"][0]["html"][:200]) for each in violations
                   if each["impact"] in {"serious", "critical"}]  # fmt: skip
        assert serious == []
        page.get_by_role("button", name="Theme").click()
        page.wait_for_timeout(300)
