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
    # Address-bar pages, which every context would build although it is never shown.
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"),
    # Only the last list counts, so it repeats the features that Playwright disables itself.
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
_EXPECT_TIMEOUT_MS = 30_000
"""A shared machine is slow, and a late result is not a wrong one."""
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    assert path, "No Chromium on this machine: run make test, or install chromium."
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        expect.set_options(timeout=_EXPECT_TIMEOUT_MS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


class Visit:
    """The browser of one user, which reports errors and requests to other hosts as problems."""

    _reusable: ClassVar[list[BrowserContext]] = []
    """Cleared contexts of earlier visits: their caches avoid parsing our scripts again."""

    def __init__(self, browser: Browser, server: LabServer, *, width: int = 1440) -> None:
        self.server = server
        self.problems: list[str] = []
        self.context = self._reusable.pop() if self._reusable else browser.new_context()
        self._size: ViewportSize = {"width": width, "height": 900}

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        page.set_viewport_size(self._size)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda message: self._record(message.type, message.text))
        page.on("request", lambda request: self._check_host(request.url))
        page.goto(self.server.url + path)
        page.get_by_text("RL LAB // GYM MANAGER").wait_for()
        # The server's first message would overwrite text that is typed before the handshake.
        page.wait_for_function("!window.socket || window.did_handshake")
        return page

    def _record(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.problems.append(f"{kind}: {text}")

    def _check_host(self, url: str) -> None:
        host = urlsplit(url).netloc
        if host and host != urlsplit(self.server.url).netloc:
            self.problems.append(f"a request to {host}")

    def close(self) -> None:
        self._recycle()
        assert self.problems == []

    def _recycle(self) -> None:
        """Clear the session and the settings, and keep the context for a later visit."""
        for page in self.context.pages:
            page.close()
        page = self.context.new_page()
        cleared = {"origin": self.server.url, "storageTypes": "cookies,local_storage,indexeddb"}
        self.context.new_cdp_session(page).send("Storage.clearDataForOrigin", cleared)
        page.close()
        self.context.clear_cookies()
        self.context.clear_permissions()
        self._reusable.append(self.context)


@pytest.fixture
def visit(browser: Browser, server: LabServer) -> Iterator[Visit]:
    server.stop_all()
    opened = Visit(browser, server)
    yield opened
    opened.close()
