"""The user's score, compared with a random agent and the best trained run."""

from nicegui import ui

from app.authoring.tryouts import RandomScore
from app.catalog.environments import EnvSpec
from components.base import NOT_MEASURED, format_number
from storage.records import RunRecord


class ScoreBoard:
    """Four returns of complete episodes; `-` until measured."""

    def __init__(self, spec: EnvSpec) -> None:
        self._best: float | None = None
        self._last: float | None = None
        self._episodes: int | None = None
        with ui.element("div").classes("lab-cells is-narrow"):
            self._you = _cell("Best played")
            self._random = _cell("Random")
            self._trained = _cell("Best trained")
            self._solved = _cell("Solved threshold")
        self._solved.set_text(format_number(spec.solved_threshold, 1))
        with ui.element("div").classes("lab-facts-row"):
            self._words = ui.label().classes("lab-small")
            self._run = ui.element("a").classes("lab-small")
            with self._run:
                self._run_name = ui.label().classes("lab-inline")
        self._run.set_visibility(False)
        self._show_words()

    def played(self, total: float) -> None:
        """Add the return of an episode that the user played."""
        self._last = total
        self._best = total if self._best is None else max(self._best, total)
        self._you.set_text(format_number(self._best, 1))
        self._show_words()

    def show_random(self, score: RandomScore | None) -> None:
        """Show the mean return of random actions."""
        self._random.set_text(format_number(score.mean if score else None, 1))
        self._episodes = score.episodes if score else None
        self._show_words()

    def show_trained(self, run: RunRecord | None) -> None:
        """Show the score of the best run."""
        self._trained.set_text(format_number(run.score if run else None, 1))
        self._run.set_visibility(run is not None)
        if run is not None:
            self._run.props(f'href="/runs/{run.id}"')
            kind = run.score_kind.label if run.score_kind else NOT_MEASURED
            self._run_name.set_text(f"Best trained: {run.algorithm}, {kind}")

    def _show_words(self) -> None:
        words = []
        if self._last is not None:
            words.append(f"Your last episode: {format_number(self._last, 1)}.")
        if self._episodes is not None:
            words.append(f"Random: the mean of {self._episodes} episodes.")
        self._words.set_text(" ".join(words))


def _cell(name: str) -> ui.label:
    with ui.element("div").classes("lab-cell"):
        ui.label(name).classes("lab-label")
        return ui.label(NOT_MEASURED).classes("lab-number").mark(name)
