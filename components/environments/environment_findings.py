"""The findings of the check of a custom environment, one line each."""

from collections.abc import Callable, Sequence

from nicegui import ui

from app.protocol import messages
from components.base import quiet_button

_WORDS = {"ok": "fine", "warning": "warning", "error": "error"}
_TITLES = {"repeats": "determinism", "gymnasium": "Gymnasium's checker"}


class EnvironmentFindings:
    """A list of passed checks, warnings and errors."""

    def __init__(self, on_line: Callable[[int], None]) -> None:
        """`on_line` reveals a line in the code editor."""
        self._on_line = on_line
        self._list = ui.element("ul").classes("lab-findings").props('role="status"')
        self.show(())

    def wait(self) -> None:
        """Show that the check is running."""
        self._show_note("A sandboxed worker runs it for at least 10,000 steps.")

    def show(self, findings: Sequence[messages.Finding]) -> None:
        """Show the findings; an empty list means not checked yet."""
        if not findings:
            self._show_note(
                "Not checked yet. Check runs it in a sandboxed worker for 10,000 steps."
            )
            return
        self._list.clear()
        with self._list:
            for finding in findings:
                self._finding(finding)

    def _show_note(self, sentence: str) -> None:
        self._list.clear()
        with self._list, ui.element("li"):
            ui.label(sentence).classes("lab-small")

    def _finding(self, finding: messages.Finding) -> None:
        with ui.element("li").classes(f"is-{finding.level}"):
            title = _TITLES.get(finding.check, finding.check)
            ui.label(f"{title}: {_WORDS[finding.level]}").classes("lab-label")
            ui.label(finding.message).classes("lab-small")
            if (line := finding.line) is not None:
                quiet_button(f"Show line {line}", lambda: self._on_line(line))
