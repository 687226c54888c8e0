"""The frame around every page."""

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui

from app.lab import VERSION, Lab
from app.training.sandbox_check import Sandbox
from components.theme import STYLESHEET_URL, ThemeSwitch
from pages.visiting import this_visitor
from storage.account_records import PersonRecord

_PAGES = (("Train", "/train"), ("Runs", "/runs"), ("API", "/api/docs"))


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


def add_shared_head(version: str, *, has_accounts: bool) -> None:
    """Link the stylesheet and fonts on every page, before anything is drawn."""
    ui.add_head_html(
        f'<link rel="stylesheet" href="{STYLESHEET_URL}?{version}">'
        '<link rel="preload" href="/assets/jetbrains-mono.woff2" as="font" type="font/woff2" '
        "crossorigin>"
        '<meta name="description" content="Train and watch reinforcement-learning agents.">',
        shared=True,
    )
    if has_accounts:
        ui.add_body_html(_LEAVE_WHEN_SIGNED_OUT, shared=True)


@contextmanager
def frame(title: str, lab: Lab, *, sandbox: Sandbox) -> Iterator[None]:
    """Header, theme and content width; the page's content goes inside."""
    ui.page_title(f"{title} · RL LAB")
    with ui.header().classes("lab-header"):
        with ui.element("a").classes("lab-brand").props('href="/"'):
            ui.label("RL LAB // GYM MANAGER")
        _navigation(title)
        _state(lab, sandbox)
    with ui.element("main").classes("lab-page"):
        yield


def _navigation(title: str) -> None:
    with ui.element("nav").classes("lab-nav").props('aria-label="Pages"'):
        for name, address in _PAGES:
            current = ' aria-current="page"' if name == title else ""
            with ui.element("a").props(f'href="{address}"{current}'):
                ui.label(name)


def _state(lab: Lab, sandbox: Sandbox) -> None:
    trainer = lab.trainer
    with ui.element("div").classes("lab-state"):
        with ui.label(f"Sandbox {sandbox.level}").classes("lab-label is-wide"):
            ui.tooltip(_sandbox_words(sandbox))
        workers = ui.label().classes("lab-label is-wide")
        ui.label(f"v{VERSION}").classes("lab-label is-wide")
        with ui.element("span").classes("lab-dot").props('role="img" aria-label="Connection"'):
            ui.tooltip("Green: connected to the lab")
        ThemeSwitch()
        if (person := this_visitor().person) is not None:
            _person_menu(person)

    def show_workers() -> None:
        queued = f" +{trainer.queued}" if trainer.queued else ""
        workers.set_text(f"Workers {trainer.active}/{trainer.limit}{queued}")

    show_workers()
    trainer.load_changed.subscribe(show_workers)


def _person_menu(person: PersonRecord) -> None:
    """Show who is signed in, and where they find what is theirs."""
    button = ui.button(color=None)
    with button:
        ui.label(person.name).classes("is-name")
        ui.label(_initials(person.name)).classes("is-initials")
    button.props('flat no-caps aria-label="Account" aria-haspopup="menu"')
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
