import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.lab_server import LabServer

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    assert path, "No Chromium on this machine: run make test, or install chromium."
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield opened
        opened.close()


class Visit:
    """One person's browser; nothing may go wrong in it and nothing may leave the machine."""

    def __init__(self, browser: Browser, server: LabServer, *, width: int = 1440) -> None:
        self.server = server
        self.problems: list[str] = []
        self.context: BrowserContext = browser.new_context(viewport={"width": width, "height": 900})

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("request", lambda request: self._check_host(request.url))
        page.goto(self.server.url + path)
        page.get_by_text("RL LAB // GYM MANAGER").wait_for()
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.problems.append(f"{kind}: {text}")

    def _check_host(self, url: str) -> None:
        host = urlsplit(url).netloc
        if host and host != urlsplit(self.server.url).netloc:
            self.problems.append(f"a request to {host}")

    def close(self) -> None:
        self.context.close()
        assert self.problems == []


@pytest.fixture
def visit(browser: Browser, server: LabServer) -> Iterator[Visit]:
    opened = Visit(browser, server)
    yield opened
    opened.close()
