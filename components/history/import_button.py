"""Import a run from another lab."""

from nicegui import ui

from app.accounts import Principal


class ImportButton(ui.element, component="import_button.js"):
    """Uploads a bundle and opens the imported run, or shows why the import failed."""

    def __init__(self, principal: Principal) -> None:
        super().__init__()
        self.set_visibility(principal.may_work)
