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
        self._shown: tuple[tuple[str, str, str], ...] = ()
        self._current: str | None = None
        self._scores: dict[str, ui.label] = {}

    def show(self, runs: Iterable[RunRecord], current: str | None) -> None:
        """Show these runs, newest first, with the one on stage marked."""
        wanted = list(runs)
        identity = tuple((run.id, run.name, run.status.value) for run in wanted)
        if (identity, current) != (self._shown, self._current):
            self._shown, self._current = identity, current
            self._empty.set_visibility(not wanted)
            self._rows.clear()
            with self._rows:
                self._scores = {run.id: self._row(run) for run in wanted}
        for run in wanted:
            self.show_score(run)

    def show_score(self, run: RunRecord) -> None:
        """Show the newest mean reward of one of the runs."""
        if (label := self._scores.get(run.id)) is not None:
            label.set_text(format_number((run.latest or {}).get("mean_reward"), 1))

    def _row(self, run: RunRecord) -> ui.label:
        here = "true" if run.id == self._current else "false"
        link = (
            ui.element("a").classes("lab-run").props(f'href="/runs/{run.id}" aria-current={here}')
        )
        with link:
            ui.label(run.name).classes("lab-name")
            StatusBadge(run.status)
            ui.label(f"{run.algorithm} · {run.env_id}").classes("lab-small")
            return ui.label().classes("lab-mono lab-score")
