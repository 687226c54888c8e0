"""What a check of a person's environment found, one line each."""

from collections.abc import Callable, Sequence

from nicegui import ui

from app.protocol import messages
from components.base.buttons import quiet_button

_WORDS = {"ok": "fine", "warning": "look at this", "error": "mend this"}
_TITLES = {"repeats": "repeats itself", "gymnasium": "Gymnasium's checker"}


class EnvironmentFindings:
    """A list that says what is fine, what to look at and what to mend."""

    def __init__(self, on_line: Callable[[int], None]) -> None:
        """`on_line` shows a line of the code."""
        self._on_line = on_line
        self._list = ui.element("ul").classes("lab-findings").props('role="status"')
        self.show(())

    def wait(self) -> None:
        """Say that a worker is at it."""
        self._say("A locked worker tries it: 10,000 steps and more.")

    def show(self, findings: Sequence[messages.Finding]) -> None:
        """Show what was found; nothing means that it wasn't tried."""
        if not findings:
            self._say("Not checked yet. Check has a locked worker try it for 10,000 steps.")
            return
        self._list.clear()
        with self._list:
            for found in findings:
                self._finding(found)

    def _say(self, sentence: str) -> None:
        self._list.clear()
        with self._list, ui.element("li"):
            ui.label(sentence).classes("lab-small")

    def _finding(self, found: messages.Finding) -> None:
        with ui.element("li").classes(f"is-{found.level}"):
            title = _TITLES.get(found.check, found.check)
            ui.label(f"{title}: {_WORDS[found.level]}").classes("lab-label")
            ui.label(found.message).classes("lab-small")
            if (line := found.line) is not None:
                quiet_button(f"Show line {line}", lambda: self._on_line(line))
