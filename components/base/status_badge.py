"""The status of a run as a badge."""

from nicegui import ui

from storage.records import RunStatus

_TONES = {
    RunStatus.STARTING: "is-live",
    RunStatus.RUNNING: "is-live",
    RunStatus.FAILED: "is-bad",
    RunStatus.INTERRUPTED: "is-bad",
}
_ALL_TONES = "is-live is-bad"


def status_class(status: RunStatus) -> str:
    """Return the CSS class of a status, or "" if it has no colour."""
    return _TONES.get(status, "")


class StatusBadge:
    """A status label; only starting, running, failed and interrupted runs have a colour."""

    def __init__(self, status: RunStatus | None = None) -> None:
        self._label = ui.label().classes("lab-badge")
        self.show(status)

    def show(self, status: RunStatus | None) -> None:
        """Show `status`, or nothing."""
        self._label.set_visibility(status is not None)
        if status is not None:
            self._label.set_text(status.value)
            self._label.classes(remove=_ALL_TONES, add=status_class(status))
