"""Bring a run in from another lab."""

from nicegui import ui

from app.accounts.visitors import Visitor


class ImportButton(ui.element, component="import_button.js"):
    """Asks for a bundle, sends it, and opens the run that came of it, or says why there is none."""

    def __init__(self, visitor: Visitor) -> None:
        super().__init__()
        self.set_visibility(visitor.may_work)
