"""The frame around every page."""

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from app.accounts.access.code_policy import UNLOCKED
from app.lab import VERSION, Lab
from app.workers.sandbox_check import Sandbox, SandboxLevel
from components.shell.help_dialog import help_dialog
from components.shell.theme import STYLESHEET, STYLESHEET_URL, ThemeSwitch
from pages.visiting import this_visitor
from storage.records.accounts import PersonRecord

FRAME_SCRIPT_URL = "/frame.js"
FRAME_SCRIPT = STYLESHEET.with_name("frame.js")
SIGNS_SCRIPT_URL = "/signs.js"
SIGNS_SCRIPT = STYLESHEET.with_name("signs.js")

_PAGES = (("Home", "/"), ("Train", "/train"), ("Runs", "/runs"), ("Compare", "/compare"))

# A page whose visitor was signed out loses its connection; it then goes where one signs in. One
# that is refused although somebody is signed in was opened by somebody else, and begins anew.
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

_LOCK = {SandboxLevel.FULL: "on", SandboxLevel.PARTIAL: "partial", SandboxLevel.NONE: "off"}
"""In one word beside "Sandbox": "full" would sound as if there were no room."""

PATIENCE_S = 20.0
"""How long a page may take to be made; three seconds are few on a crowded machine."""


def add_shared_head(version: str, *, has_accounts: bool) -> None:
    """Link the stylesheet and fonts on every page, before anything is drawn."""
    ui.add_head_html(
        f'<link rel="stylesheet" href="{STYLESHEET_URL}?{version}">'
        f'<script src="{FRAME_SCRIPT_URL}?{version}"></script>'
        '<link rel="preload" href="/assets/jetbrains-mono.woff2" as="font" type="font/woff2" '
        "crossorigin>"
        '<meta name="description" content="Train and watch reinforcement-learning agents.">',
        shared=True,
    )
    # After Quasar is there and before it draws anything.
    ui.add_body_html(f'<script defer src="{SIGNS_SCRIPT_URL}?{version}"></script>', shared=True)
    if has_accounts:
        ui.add_body_html(_LEAVE_WHEN_SIGNED_OUT, shared=True)


@contextmanager
def frame(title: str, lab: Lab, *, sandbox: Sandbox) -> Iterator[None]:
    """Header, theme and content width; the page's content goes inside."""
    ui.page_title(f"{title} · RL LAB")
    with ui.header().classes("lab-header"):
        with ui.element("a").classes("lab-skip").props('href="#content"'):
            ui.label("Skip to the content")
        with ui.element("a").classes("lab-brand").props('href="/"'):
            ui.label("RL LAB // GYM MANAGER")
        _navigation(title)
        if lab.code.rules.unlocks(sandbox):
            with ui.label(UNLOCKED).classes("lab-label lab-unlocked").props('role="note"'):
                ui.tooltip("RL_LAB_UNLOCKED_CODE lets code run here with the server's rights.")
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
    trainer = lab.trainer
    with ui.element("div").classes("lab-state"):
        with ui.label(f"Sandbox {_LOCK[sandbox.level]}").classes("lab-label is-wide"):
            ui.tooltip(_sandbox_words(sandbox))
        workers = ui.label().classes("lab-label is-wide")
        ui.label(f"v{VERSION}").classes("lab-label is-wide")
        _connection()
        _explain_switch()
        ThemeSwitch()
        _help_button()
        if (person := this_visitor().person) is not None:
            _person_menu(person)

    def show_workers() -> None:
        queued = f" +{trainer.queued}" if trainer.queued else ""
        workers.set_text(f"Workers {trainer.active}/{trainer.limit}{queued}")

    show_workers()
    trainer.load_changed.subscribe(show_workers)


def _connection() -> None:
    """A dot and, once there is something to say, words; frame.js writes both."""
    with ui.element("div").classes("lab-connection").props('role="status"'):
        ui.element("span").classes("lab-dot").props('aria-hidden="true"')
        ui.element("span").classes("lab-connection-text")


def _explain_switch() -> None:
    switch = ui.element("button").classes("lab-icon-button lab-switch")
    switch.props('type="button" data-explain aria-pressed=false')
    with switch:
        ui.label("Explain")
        ui.tooltip("Add a plain sentence to every number and chart")


def _help_button() -> None:
    button = ui.element("button").classes("lab-icon-button lab-switch")
    button.props('type="button" data-help aria-label="Help and keys" aria-haspopup="dialog"')
    with button:
        ui.label("?")


def _person_menu(person: PersonRecord) -> None:
    """Show who is signed in, and where they find what is theirs."""
    button = ui.button(color=None)
    with button:
        ui.label(person.name).classes("is-name")
        ui.label(_initials(person.name)).classes("is-initials")
    button.props('flat no-caps aria-haspopup="menu"')
    # With all that is seen of it, at any width; not by `props`, which would read quotes of a name.
    button._props["aria-label"] = f"Account: {person.name} ({_initials(person.name)})"
    with button.classes("lab-icon-button lab-who"), ui.menu(), _menu():
        with ui.element("div").classes("lab-menu-head"):
            ui.label(person.name).classes("lab-name")
            ui.label(f"{person.email} · {person.role}").classes("lab-small")
        _menu_link("Profile", "/profile")
        if person.is_admin:
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
    if not sandbox.open_doors:
        return "Workers can't read your files, reach the network or start programs."
    return f"Workers are not fully locked in here. Open: {', '.join(sandbox.open_doors)}."
