"""The latest runs at a glance."""

from collections.abc import Iterable

from nicegui import ui

from components.metrics import format_number
from components.panel import EmptyState
from components.status_badge import StatusBadge
from storage.records import RunRecord


class RunList:
    """One row per run; a click opens it."""

    def __init__(self) -> None:
        self._empty = EmptyState("No runs yet", "Pick an environment and press Train.")
        self._rows = ui.element("nav").classes("lab-runs").props('aria-label="Latest runs"')
        self._shown: tuple[RunRecord, ...] = ()
        self._current: str | None = None

    def show(self, runs: Iterable[RunRecord], current: str | None) -> None:
        """Show these runs, newest first, with the one on stage marked."""
        wanted = tuple(runs)
        if (wanted, current) == (self._shown, self._current):
            return
        self._shown, self._current = wanted, current
        self._empty.set_visibility(not wanted)
        self._rows.clear()
        with self._rows:
            for run in wanted:
                self._row(run)

    def _row(self, run: RunRecord) -> None:
        here = "true" if run.id == self._current else "false"
        link = ui.element("a").classes("lab-run").props(f'href="/runs/{run.id}" aria-current={here}')
        with link:
            ui.label(run.name).classes("lab-name")
            StatusBadge(run.status)
            ui.label(f"{run.algorithm} · {run.env_id}").classes("lab-small")
            mean = format_number((run.latest or {}).get("mean_reward"), 1)
            ui.label(mean).classes("lab-mono")
