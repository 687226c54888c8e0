"""A compact list of the latest runs."""

from collections.abc import Iterable

from nicegui import ui

from app.run_config import environment_label, seed_of
from components.base import EmptyState, LiveText, StatusBadge, format_number
from storage.records import RunRecord


class RunList:
    """One row per run; a click opens it."""

    def __init__(self) -> None:
        with ui.element("div") as self._box:
            self._empty = EmptyState("No runs yet", "Pick an environment and press Train.")
            self._rows = ui.element("nav").classes("lab-runs").props('aria-label="Latest runs"')
        self._shown: tuple[tuple[str, str, str], ...] = ()
        self._current: str | None = None
        self._scores: dict[str, LiveText] = {}

    def show(self, runs: Iterable[RunRecord], current: str | None) -> None:
        """Show these runs, newest first, and mark the current one."""
        listed = list(runs)
        identity = tuple((run.id, run.name, run.status.value) for run in listed)
        if (identity, current) != (self._shown, self._current):
            self._shown, self._current = identity, current
            self._empty.set_visibility(not listed)
            self._rows.clear()
            with self._rows:
                self._scores = {run.id: self._row(run) for run in listed}
        for run in listed:
            self.show_score(run)

    def show_score(self, run: RunRecord) -> None:
        """Update the score of one of the runs, and its progress while it trains."""
        if (label := self._scores.get(run.id)) is not None:
            score = format_number(run.score, 1)
            done = f"{run.share_done:.0%} · " if run.status.has_worker else ""
            label.set_text(done + score)

    def set_visibility(self, visible: bool) -> None:
        """Show or hide the list."""
        self._box.set_visibility(visible)

    def _row(self, run: RunRecord) -> LiveText:
        here = "true" if run.id == self._current else "false"
        link = (
            ui.element("a").classes("lab-run").props(f'href="/runs/{run.id}" aria-current={here}')
        )
        with link:
            name, about = _words(run)
            title = ui.label(name).classes("lab-name")
            # Not with `props`, whose parser would interpret quotes in the name.
            title._props["title"] = run.name
            StatusBadge(run.status)
            ui.label(about).classes("lab-small")
            return LiveText().classes("lab-mono lab-score")


def _words(run: RunRecord) -> tuple[str, str]:
    """Return title and subtitle; the seed goes into the subtitle, which is not truncated."""
    about, seed = f"{run.algorithm} · {environment_label(run)}", seed_of(run)
    name = run.name.removesuffix(f", seed {seed}")
    return name, about if name == run.name else f"{about} · seed {seed}"
