"""The help dialog: keyboard shortcuts and links."""

from nicegui import ui

from components.base import heading

_KEYS = (
    (("Space",), "Pause or resume the shown run"),
    (("t",), "Train"),
    (("e",), "Evaluate the policy"),
    (("/",), "Search"),
    (("↑", "↓"), "Move in the list of runs; Space selects, Shift extends, Enter opens"),
    (("Del",), "Delete the selected runs; Escape clears the selection"),
    (("g", "h"), "Go to Home"),
    (("g", "t"), "Go to Train"),
    (("g", "r"), "Go to Runs"),
    (("g", "c"), "Go to Compare"),
    (("?",), "Open this help"),
)


def help_dialog() -> None:
    """Add the dialog; frame.js opens it, so that it works without a connection."""
    with ui.element("dialog").classes("lab-help lab-panel").props('aria-label="Help"'):
        with ui.element("div").classes("lab-panel-head"):
            heading("Help")
            _close()
        with ui.element("div").classes("lab-panel-body"):
            _keys()
            _links()


def _close() -> None:
    with (
        ui.element("form").props('method="dialog"'),
        ui.element("button").classes("lab-icon-button lab-switch"),
    ):
        ui.label("Close")


def _keys() -> None:
    with ui.element("dl").classes("lab-keys"):
        for keys, meaning in _KEYS:
            with ui.element("dt"):
                for key in keys:
                    with ui.element("kbd"):
                        ui.label(key).classes("lab-inline")
            with ui.element("dd"):
                ui.label(meaning)
    with ui.element("label").classes("lab-check"):
        ui.element("input").props('type="checkbox" data-keys checked')
        ui.label("Enable keyboard shortcuts")
    ui.label(
        "They are off while you type in a field. Each one does what a button on the page does."
    )


def _links() -> None:
    with ui.element("div").classes("lab-actions"):
        for text, address in (("Take the tour", "/train?tour=1"), ("API", "/api/docs")):
            with (
                ui.element("a")
                .classes("lab-button lab-compact lab-link lab-quiet")
                .props(f'href="{address}"')
            ):
                ui.label(text)
