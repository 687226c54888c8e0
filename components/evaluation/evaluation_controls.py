"""The controls of evaluations: the number of episodes, Test, and Cancel."""

from nicegui import ui

from app.core import read_whole
from app.evaluation import EPISODES, Evaluation, EvaluationStatus
from app.runs.state import RunFeed
from components.base import Refusal, number_input
from components.evaluation.evaluation_code import EvaluationCode
from components.evaluation.state import EvaluationState

_MAX_EPISODES = 100


class EvaluationControls:
    """Starts an evaluation of the shown run, or shows why that isn't possible."""

    def __init__(self, state: EvaluationState) -> None:
        self._state = state
        self._feed: RunFeed | None = None
        with ui.element("div").classes("lab-test"):
            self._episodes = number_input("Episodes", str(EPISODES), self._check)
            self._test = ui.button("Test", on_click=lambda: self._start(), color=None)
            self._test.props("unelevated").classes("lab-button lab-quiet")
            with self._test:
                self._tooltip = ui.tooltip("")
            self._cancel = ui.button("Cancel evaluation", on_click=state.cancel, color=None)
            self._cancel.props("unelevated").classes("lab-button lab-danger")
            self._code = EvaluationCode(state, on_evaluate=self._start)
        self._refusal = Refusal()
        self._note = ui.label().classes("lab-small").props('role="status"')

    def show(self, feed: RunFeed | None) -> None:
        """Show the button to evaluate a run, or to cancel the running evaluation."""
        self._feed = feed
        evaluation = self._state.under_way
        is_permitted = feed is not None and self._state.may_change(feed)
        self._test.set_visibility(evaluation is None)
        self._cancel.set_visibility(evaluation is not None and is_permitted)
        self._episodes.set_visibility(evaluation is None)
        self._code.show(is_offered=evaluation is None and is_permitted)
        self._refusal.say(self._state.refusal)
        self._note.set_text(_progress(evaluation) if evaluation else "")
        self._check()

    @property
    def _episode_count(self) -> int | None:
        count = read_whole(self._episodes.value or "")
        return count if isinstance(count, int) and 1 <= count <= _MAX_EPISODES else None

    def _check(self) -> None:
        wrong = f"Episodes must be a whole number from 1 to {_MAX_EPISODES}."
        self._episodes.error = None if self._episode_count else wrong
        why = self._why_not(self._feed) or (None if self._episode_count else wrong)
        self._test.set_enabled(why is None)
        default = (
            "Plays complete episodes with the newest policy of the shown run and records a video."
        )
        self._tooltip.set_text(why or default)

    def _why_not(self, feed: RunFeed | None) -> str | None:
        if feed is None or feed.is_deleted:
            return "There is no policy to evaluate yet. Train first."
        if not self._state.may_change(feed):
            return "This run is not yours. Only its owner may evaluate it."
        return None if feed.has_policy else "This run has no policy yet. Train it first."

    async def _start(self, code: str | None = None) -> None:
        if (count := self._episode_count) is not None:
            await self._state.start(count, code=code)


def _progress(evaluation: Evaluation) -> str:
    if evaluation.status is EvaluationStatus.QUEUED:
        return "The evaluation is queued."
    return f"Evaluating: {evaluation.played} of {evaluation.episodes} episodes done."
