"""The latest runs at a glance."""

from collections.abc import Iterable

from nicegui import ui

from components.base.live_value import LiveText
from components.base.metrics import format_number
from components.base.panel import EmptyState
from components.base.status_badge import StatusBadge
from storage.records.runs import RunRecord


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
        """Show the newest mean reward of one of the runs, and how far it is while it trains."""
        if (label := self._scores.get(run.id)) is not None:
            score = format_number((run.latest or {}).get("mean_reward"), 1)
            done = f"{run.share_done:.0%} · " if run.status.has_worker else ""
            label.set_text(done + score)

    def set_visibility(self, visible: bool) -> None:
        """Show or hide all of it."""
        self._box.set_visibility(visible)

    def _row(self, run: RunRecord) -> LiveText:
        here = "true" if run.id == self._current else "false"
        link = (
            ui.element("a").classes("lab-run").props(f'href="/runs/{run.id}" aria-current={here}')
        )
        with link:
            name, about = _words(run)
            title = ui.label(name).classes("lab-name")
            # Not by `props`, which would read the quotes of a name as its own.
            title._props["title"] = run.name
            StatusBadge(run.status)
            ui.label(about).classes("lab-small")
            return LiveText().classes("lab-mono lab-score")


def _words(run: RunRecord) -> tuple[str, str]:
    """Return a name and what it is; a seed goes below, where it isn't cut off."""
    about, seed = f"{run.algorithm} · {run.env_id}", run.config.get("seed")
    name = run.name.removesuffix(f", seed {seed}")
    return name, about if name == run.name else f"{about} · seed {seed}"
