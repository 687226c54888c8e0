"""The button that opens the setup where there is no room for it beside the rest."""

from nicegui import ui


class SetupSheet(ui.element, component="setup_sheet.js"):
    """Shown on phones only; see theme.css."""

    def close(self) -> None:
        """Close the sheet, if it is open."""
        self.run_method("close")
