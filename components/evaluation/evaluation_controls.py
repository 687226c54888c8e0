"""TEST: how many episodes, the button, and the way to end it."""

from nicegui import ui

from app.evaluation.evaluation import EPISODES, Evaluation, EvaluationStatus
from app.runs.state.feed import RunFeed
from components.base.hyperparameter_field import number_input, read_whole
from components.base.refusal import Refusal
from components.evaluation.evaluation_code import EvaluationCode
from components.evaluation.evaluation_desk import EvaluationDesk

_MOST_EPISODES = 100


class EvaluationControls:
    """Tests the run on stage; says why where it can't."""

    def __init__(self, desk: EvaluationDesk) -> None:
        self._desk = desk
        self._feed: RunFeed | None = None
        with ui.element("div").classes("lab-test"):
            self._episodes = number_input("Episodes", str(EPISODES), self._check)
            self._test = ui.button("Test", on_click=lambda: self._start(), color=None)
            self._test.props("unelevated").classes("lab-button lab-quiet")
            with self._test:
                self._why = ui.tooltip("")
            self._cancel = ui.button("Cancel test", on_click=desk.cancel, color=None)
            self._cancel.props("unelevated").classes("lab-button lab-danger")
            self._code = EvaluationCode(desk, on_test=self._start)
        self._refusal = Refusal()
        self._note = ui.label().classes("lab-small").props('role="status"')

    def show(self, feed: RunFeed | None) -> None:
        """Offer to test a run, or to end the test that is under way."""
        self._feed = feed
        test = self._desk.under_way
        may = feed is not None and self._desk.may_change(feed)
        self._test.set_visibility(test is None)
        self._cancel.set_visibility(test is not None and may)
        self._episodes.set_visibility(test is None)
        self._code.show(is_offered=test is None and may)
        self._refusal.say(self._desk.refusal)
        self._note.set_text(_progress(test) if test else "")
        self._check()

    @property
    def _asked(self) -> int | None:
        count = read_whole(self._episodes.value or "")
        return count if isinstance(count, int) and 1 <= count <= _MOST_EPISODES else None

    def _check(self) -> None:
        wrong = f"Episodes must be a whole number from 1 to {_MOST_EPISODES}."
        self._episodes.error = None if self._asked else wrong
        why = self._why_not(self._feed) or (None if self._asked else wrong)
        self._test.set_enabled(why is None)
        usual = "Plays whole episodes with the newest policy of the run on stage, and films them."
        self._why.set_text(why or usual)

    def _why_not(self, feed: RunFeed | None) -> str | None:
        if feed is None or feed.is_deleted:
            return "There is nothing to test yet. Train first."
        if not self._desk.may_change(feed):
            return "This run is not yours. Only its owner may test it."
        return None if feed.has_policy else "This run has no policy yet. Train it first."

    async def _start(self, code: str | None = None) -> None:
        if (count := self._asked) is not None:
            await self._desk.start(count, code=code)


def _progress(test: Evaluation) -> str:
    if test.status is EvaluationStatus.QUEUED:
        return "The test waits for its turn."
    return f"Testing: {test.played} of {test.episodes} episodes are over."
