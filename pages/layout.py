"""The layout around every page: header, theme and help."""

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import App, ui

from app.accounts.access import UNLOCKED
from app.lab import VERSION, Lab
from app.web.assets import ASSETS_FOLDER, ASSETS_URL
from app.workers import Sandbox, SandboxLevel
from components.shell import STYLESHEET, STYLESHEET_URL, ThemeSwitch, help_dialog
from pages.opener import this_principal
from storage.records import UserRecord

_FRAME_SCRIPT_URL = "/frame.js"
_SIGNS_SCRIPT_URL = "/signs.js"

_PAGES = (("Home", "/"), ("Train", "/train"), ("Runs", "/runs"), ("Compare", "/compare"))

# A page loses its connection when its user is signed out; it then opens the sign-in page. A page
# whose connection is refused although a user is signed in belongs to another session; it reloads.
_LEAVE_WHEN_SIGNED_OUT = """<script>
addEventListener("load", function watch() {
  if (!window.socket) return setTimeout(watch, 100);
  async function leave(reload) {
    const answer = await fetch("/api/me").catch(() => null);
    if (answer?.status === 401) {
      location.href = "/login?next=" + encodeURIComponent(location.pathname);
    } else if (answer?.ok && reload) location.reload();
  }
  window.socket.on("disconnect", () => leave(false));
  window.socket.on("connect_error", () => leave(window.did_handshake));
});
</script>"""

SANDBOX_WORDS = {
    SandboxLevel.FULL: "on",
    SandboxLevel.PARTIAL: "partial",
    SandboxLevel.NONE: "off",
}
"""The word after "Sandbox": "full" would read as if there were no capacity."""

RESPONSE_TIMEOUT_S = 20.0
"""Time limit to build a page; NiceGUI's 3 s are too short on a busy machine."""


def add_shared_files(app: App) -> None:
    """Serve the files that every page links."""
    app.add_static_files(ASSETS_URL, ASSETS_FOLDER)
    app.add_static_file(local_file=STYLESHEET, url_path=STYLESHEET_URL)
    for url in (_FRAME_SCRIPT_URL, _SIGNS_SCRIPT_URL):
        app.add_static_file(local_file=STYLESHEET.with_name(url[1:]), url_path=url)


def add_shared_head(version: str, *, has_accounts: bool) -> None:
    """Add the stylesheet, scripts and fonts to the head of every page."""
    ui.add_head_html(
        f'<link rel="stylesheet" href="{STYLESHEET_URL}?{version}">'
        f'<script src="{_FRAME_SCRIPT_URL}?{version}"></script>'
        '<link rel="preload" href="/assets/jetbrains-mono.woff2" as="font" type="font/woff2" '
        "crossorigin>"
        '<meta name="description" content="Train and watch reinforcement-learning agents.">',
        shared=True,
    )
    # Deferred: runs after Quasar has loaded and before it renders.
    ui.add_body_html(f'<script defer src="{_SIGNS_SCRIPT_URL}?{version}"></script>', shared=True)
    if has_accounts:
        ui.add_body_html(_LEAVE_WHEN_SIGNED_OUT, shared=True)


@contextmanager
def frame(title: str, lab: Lab, *, sandbox: Sandbox) -> Iterator[None]:
    """Add header, theme and help; the caller adds the content inside."""
    ui.page_title(f"{title} · RL LAB")
    with ui.header().classes("lab-header"):
        with ui.element("a").classes("lab-skip").props('href="#content"'):
            ui.label("Skip to content")
        with ui.element("a").classes("lab-brand").props('href="/"'):
            ui.label("RL LAB // GYM MANAGER")
        _navigation(title)
        if lab.code.rules.unlocks(sandbox):
            with ui.label(UNLOCKED).classes("lab-label lab-unlocked").props('role="note"'):
                ui.tooltip(
                    "RL_LAB_UNLOCKED_CODE is set: user code runs without a sandbox, with "
                    "the server's permissions."
                )
        _state(lab, sandbox)
    with ui.element("div").classes("lab-page").props('id="content" tabindex=-1'):
        yield
    help_dialog()


def _navigation(title: str) -> None:
    with ui.element("nav").classes("lab-nav").props('aria-label="Pages"'):
        for name, address in _PAGES:
            current = ' aria-current="page"' if name == title else ""
            with ui.element("a").props(f'href="{address}"{current}'):
                ui.label(name)


def _state(lab: Lab, sandbox: Sandbox) -> None:
    queue = lab.queue
    with ui.element("div").classes("lab-state"):
        with ui.label(f"Sandbox {SANDBOX_WORDS[sandbox.level]}").classes("lab-label is-wide"):
            ui.tooltip(_sandbox_words(sandbox))
        workers = ui.label().classes("lab-label is-wide")
        ui.label(f"v{VERSION}").classes("lab-label is-wide")
        _connection()
        _explain_switch()
        ThemeSwitch()
        _help_button()
        if (user := this_principal().user) is not None:
            _user_menu(user)

    def show_workers() -> None:
        queued = f" +{queue.waiting}" if queue.waiting else ""
        workers.set_text(f"Workers {queue.active}/{queue.limit}{queued}")

    show_workers()
    queue.load_changed.subscribe(show_workers)


def _connection() -> None:
    """Add the connection indicator, a dot and a text; frame.js updates both."""
    with ui.element("div").classes("lab-connection").props('role="status"'):
        ui.element("span").classes("lab-dot").props('aria-hidden="true"')
        ui.element("span").classes("lab-connection-text")


def _explain_switch() -> None:
    switch = ui.element("button").classes("lab-icon-button lab-switch")
    switch.props('type="button" data-explain aria-pressed=false')
    with switch:
        ui.label("Explain")
        ui.tooltip("Explain every number and chart in one sentence")


def _help_button() -> None:
    button = ui.element("button").classes("lab-icon-button lab-switch")
    button.props(
        'type="button" data-help aria-label="Help and keyboard shortcuts" aria-haspopup="dialog"'
    )
    with button:
        ui.label("?")


def _user_menu(user: UserRecord) -> None:
    """Add the account menu of the signed-in user."""
    button = ui.button(color=None)
    with button:
        ui.label(user.name).classes("is-name")
        ui.label(_initials(user.name)).classes("is-initials")
    button.props('flat no-caps aria-haspopup="menu"')
    # Has both visible texts; not with `props`, whose parser would interpret quotes in the name.
    button._props["aria-label"] = f"Account: {user.name} ({_initials(user.name)})"
    with button.classes("lab-icon-button lab-who"), ui.menu(), _menu():
        with ui.element("div").classes("lab-menu-head"):
            ui.label(user.name).classes("lab-name")
            ui.label(f"{user.email} · {user.role}").classes("lab-small")
        _menu_link("Profile", "/profile")
        if user.is_admin:
            _menu_link("Administration", "/admin")
        _sign_out()


def _initials(name: str) -> str:
    return "".join(word[0] for word in name.split()[:2]).upper()


def _menu() -> ui.element:
    return ui.element("div").classes("lab-menu")


def _sign_out() -> None:
    form = ui.element("form").props('method="post" action="/logout"')
    with form, ui.element("button").props('type="submit"'):
        ui.label("Sign out")


def _menu_link(text: str, address: str) -> None:
    with ui.element("a").props(f'href="{address}"'):
        ui.label(text)


def _sandbox_words(sandbox: Sandbox) -> str:
    if not sandbox.escapes:
        return "Workers can't read your files, reach the network or start programs."
    return f"Workers are not fully sandboxed. Not restricted: {', '.join(sandbox.escapes)}."
