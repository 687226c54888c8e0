"""The button that opens the setup on narrow screens."""

from nicegui import ui


class SetupSheet(ui.element, component="setup_sheet.js"):
    """Shown on phones only; see theme.css."""

    def close(self) -> None:
        """Close the sheet, if it is open."""
        self.run_method("close")
