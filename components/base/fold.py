"""A collapsible section."""

from nicegui import ui


class Fold(ui.expansion, component="fold.js"):
    """Opens on a click; the browser renders its content when it is first opened."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.props("dense dense-toggle").classes("lab-full")
