"""A run's status in one word."""

from nicegui import ui

from storage.records.runs import RunStatus

_TONES = {
    RunStatus.STARTING: "is-live",
    RunStatus.RUNNING: "is-live",
    RunStatus.FAILED: "is-bad",
    RunStatus.INTERRUPTED: "is-bad",
}
_ALL_TONES = "is-live is-bad"


def tone(status: RunStatus) -> str:
    """Return the class of its colour, if it has one."""
    return _TONES.get(status, "")


class StatusBadge:
    """Only live and broken runs get a colour."""

    def __init__(self, status: RunStatus | None = None) -> None:
        self._label = ui.label().classes("lab-badge")
        self.show(status)

    def show(self, status: RunStatus | None) -> None:
        """Show `status`, or nothing."""
        self._label.set_visibility(status is not None)
        if status is not None:
            self._label.set_text(status.value)
            self._label.classes(remove=_ALL_TONES, add=tone(status))
