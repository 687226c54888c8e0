"""Panels: the titled cards that a page consists of."""

from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import ui


@contextmanager
def panel(title: str, *, flush: bool = False, place: str = "") -> Iterator[ui.element]:
    """Add a titled card and yield its head, so that the caller can add actions to it.

    `place` sets its position in the single-column layout (see theme.css).
    """
    place_class = f" is-{place}" if place else ""
    with ui.element("section").classes(f"lab-panel{place_class}").props(f'aria-label="{title}"'):
        with ui.element("div").classes("lab-panel-head") as head:
            heading(title)
        with ui.element("div").classes("lab-panel-body" + (" is-flush" if flush else "")):
            yield head


def heading(text: str) -> None:
    """Add the title of a panel."""
    with ui.element("h2").classes("lab-label"):
        ui.label(text)


def page_links(*links: tuple[str, str]) -> None:
    """Add links to other pages below an empty state: names and addresses."""
    with ui.element("nav").classes("lab-ways-out").props('aria-label="Where to go"'):
        for name, address in links:
            link = ui.element("a").classes("lab-button lab-compact lab-link lab-quiet")
            with link.props(f'href="{address}"'):
                ui.label(name)


class EmptyState:
    """The placeholder of a panel without content: what is missing and how to get it."""

    def __init__(self, title: str, hint: str) -> None:
        with ui.element("div").classes("lab-empty") as self._box:
            self._title = ui.label(title).classes("lab-name")
            self._hint = ui.label(hint)

    def say(self, title: str, hint: str) -> None:
        """Change the text."""
        self._title.set_text(title)
        self._hint.set_text(hint)

    def set_visibility(self, visible: bool) -> None:
        """Show or hide the placeholder."""
        self._box.set_visibility(visible)
