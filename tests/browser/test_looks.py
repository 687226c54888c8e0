"""Layout and accessibility of every page, wide and light, small and dark."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.app.accounts.users import ApiUser
from tests.browser.conftest import Visit
from tests.browser.test_account_pages import signed_in
from tests.lab_server import ROOT, LabServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

WIDE, NARROWER, PHONE = 1440, 1000, 390
OPEN = (
    *("/", "/?q=nothing+fits+this", "/train", "/train?tour=1"),
    *("/environments/CartPole-v1", "/environments/Pendulum-v1", "/environments/nothing"),
    *("/runs", "/runs?q=nothing+fits+this", "/runs/{run}", "/runs/nothing"),
    *("/compare", "/compare?runs={run},{twin},nothing"),
)
PUBLIC = ("/login", "/register", "/reset", "/nowhere")
ACCOUNT = ("/profile", "/admin")
AXE = ROOT / "assets" / "node_modules" / "axe-core" / "axe.min.js"

# Without resultTypes the report lists every passing element. Without preload: false, the page would
# show a loading bar for the requests of axe itself.
VIOLATIONS = """axe.run(document, {resultTypes: ['violations'], preload: false})
    .then(report => report.violations)"""

DARKEN = "window.Quasar ? Quasar.Dark.set(true) : document.body.classList.add('body--dark')"

SMALL_TEXT = """() => [...document.querySelectorAll('body *')]
    .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.closest('.lab-unseen'))
    .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .filter(e => parseFloat(getComputedStyle(e).fontSize) < 11)
    .map(e => e.outerHTML.slice(0, 120))"""

# Links within a sentence are excluded: they are as high as its lines.
SMALL_TARGETS = """() => [...document.querySelectorAll(
        'a[href], button, input, select, textarea, summary, [role=button], [role=radio], '
        + '[role=checkbox], [role=switch], [role=tab]')]
    .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.closest('.lab-unseen'))
    .filter(e => !(e.tagName === 'A' && getComputedStyle(e).display === 'inline'))
    .map(e => e.closest('.q-field__control') ?? e.closest('label') ?? e)
    .filter(e => { const box = e.getBoundingClientRect();
                   return box.width && (box.height < 43.5 || box.width < 43.5); })
    .map(e => `${Math.round(e.getBoundingClientRect().width)}x`
              + `${Math.round(e.getBoundingClientRect().height)} ${e.outerHTML.slice(0, 160)}`)"""


@pytest.fixture(scope="module")
def runs(server: LabServer) -> dict[str, str]:
    run = server.train(total_timesteps=2_000)
    twin = server.train(total_timesteps=2_000, learning_rate=0.01, name="Twin")
    return {"run": run["id"], "twin": twin["id"]}


@pytest.fixture
def visited(
    browser: Browser, server: LabServer, guarded: LabServer, request: pytest.FixtureRequest
) -> Iterator[Visit]:
    """A visit to the lab without accounts, or to the one with accounts if the page needs them."""
    path = request.getfixturevalue("path")
    visit = Visit(browser, guarded if path in (*PUBLIC, *ACCOUNT) else server, width=WIDE)
    yield visit
    if path == "/nowhere":
        visit.problems = [text for text in visit.problems if "404" not in text]
    visit.close()


@pytest.mark.parametrize("path", [*OPEN, *PUBLIC, *ACCOUNT])
def test_a_page_has_no_layout_or_accessibility_problem(
    path: str, visited: Visit, runs: dict[str, str], admin: ApiUser
) -> None:
    filled = path.format(**runs)
    page = signed_in(visited, admin, path) if path in ACCOUNT else visited.open(filled)
    page.wait_for_load_state("networkidle")

    assert problems_of(page, WIDE) == []
    page.set_viewport_size({"width": NARROWER, "height": 900})
    assert overflow(page, NARROWER) == []
    shrink_and_darken(page, PHONE)
    assert problems_of(page, PHONE) == []


@pytest.mark.parametrize("path", ["/login"])
def test_the_dark_theme_is_applied_when_a_page_opens(path: str, visited: Visit) -> None:
    dark = {"name": "theme", "value": "dark", "url": visited.server.url}
    visited.context.add_cookies([dark])  # type: ignore[list-item]
    page = visited.open(path)
    page.set_viewport_size({"width": PHONE, "height": 900})
    page.reload()
    page.wait_for_load_state("networkidle")

    expect(page.locator("body")).to_contain_class("body--dark")
    assert problems_of(page, PHONE) == []


def shrink_and_darken(page: Page, width: int) -> None:
    """Switch the page to a small window and to the dark theme."""
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(DARKEN)
    expect(page.locator("body")).to_contain_class("body--dark")


def problems_of(page: Page, width: int) -> list[str]:
    """Return overflow, text and touch targets that are too small, and violations of axe."""
    # Expanding and collapsing are animated.
    page.wait_for_timeout(300)
    problems = overflow(page, width) + page.evaluate(SMALL_TEXT)
    if width == PHONE:
        problems += page.evaluate(SMALL_TARGETS)
    assert AXE.is_file(), "axe-core is missing: run make setup."
    page.evaluate("document.documentElement.classList.add('is-explaining')")
    page.evaluate(AXE.read_text() + "; 0")
    return problems + serious_violations(page.evaluate(VIOLATIONS))


def overflow(page: Page, width: int) -> list[str]:
    needed = page.evaluate("document.documentElement.scrollWidth")
    return [f"it is {needed} px wide"] if needed > width else []


def serious_violations(violations: list[dict[str, Any]]) -> list[str]:
    return [
        f"{problem['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for problem in violations
        if problem["impact"] in {"serious", "critical"}
        for node in problem["nodes"][:3]
    ]
