"""Content behind a line of text."""

from nicegui import ui


class Fold(ui.expansion, component="fold.js"):
    """Opens by a click; the browser draws what is in it when that first happens."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.props("dense dense-toggle").classes("lab-full")
