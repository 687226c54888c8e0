import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.lab_server import LabServer

_FEATURES = (
    # Pages of the address bar, built anew for each context although nobody sees it.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    # The last list counts: the ones that matter of what Playwright turns off by itself.
    *("HttpsUpgrades", "MediaRouter", "OptimizationHints", "PaintHolding", "Translate"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "LensOverlay"),
)
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(_FEATURES)}",
]
_PATIENCE_MS = 30_000
"""A machine that others use, too, takes its time: what comes late isn't wrong."""
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    assert path, "No Chromium on this machine: run make test, or install chromium."
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        expect.set_options(timeout=_PATIENCE_MS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


class Visit:
    """One person's browser; nothing may go wrong in it and nothing may leave the machine."""

    _rested: ClassVar[list[BrowserContext]] = []
    """Left by earlier visits, with nothing but their caches: our scripts are read only once."""

    def __init__(self, browser: Browser, server: LabServer, *, width: int = 1440) -> None:
        self.server = server
        self.problems: list[str] = []
        self.context = self._rested.pop() if self._rested else browser.new_context()
        self._size: ViewportSize = {"width": width, "height": 900}

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.set_viewport_size(self._size)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("request", lambda request: self._check_host(request.url))
        page.goto(self.server.url + path)
        page.get_by_text("RL LAB // GYM MANAGER").wait_for()
        # What is typed before would be overwritten by what the server says first.
        page.wait_for_function("!window.socket || window.did_handshake")
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.problems.append(f"{kind}: {text}")

    def _check_host(self, url: str) -> None:
        host = urlsplit(url).netloc
        if host and host != urlsplit(self.server.url).netloc:
            self.problems.append(f"a request to {host}")

    def close(self) -> None:
        self._rest()
        assert self.problems == []

    def _rest(self) -> None:
        """Forget who was here and what they chose."""
        for page in self.context.pages:
            page.close()
        page = self.context.new_page()
        forget = {"origin": self.server.url, "storageTypes": "cookies,local_storage,indexeddb"}
        self.context.new_cdp_session(page).send("Storage.clearDataForOrigin", forget)
        page.close()
        self.context.clear_cookies()
        self.context.clear_permissions()
        self._rested.append(self.context)


@pytest.fixture
def visit(browser: Browser, server: LabServer) -> Iterator[Visit]:
    server.stop_all()
    opened = Visit(browser, server)
    yield opened
    opened.close()
