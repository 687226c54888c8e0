"""The controls of evaluations: episodes, seeds and actions, Test, and Cancel."""

from nicegui import ui

from app.catalog.algorithms import get_algorithm
from app.core import read_whole
from app.evaluation import EPISODES, MIN_FINAL_EPISODES, Evaluation, EvaluationStatus
from app.protocol import SeedFamily
from app.run_config import readable_config
from app.runs.state import RunFeed
from components.base import Fold, Refusal, number_input
from components.evaluation.evaluation_code import EvaluationCode
from components.evaluation.state import EvaluationState

_MAX_EPISODES = 100
_SEEDS = {
    SeedFamily.TEST: "Test seeds",
    SeedFamily.FINAL: "Final seeds",
}


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
        with Fold("Evaluation settings").mark("evaluation_settings") as self._settings:
            self._family = ui.select(
                _SEEDS, label="Seeds", value=SeedFamily.TEST, on_change=self._check
            )
            self._family.props("dense outlined")
            self._deterministic = self._box("Deterministic actions", value=True)
            self._disturbances = self._box("Disturbances of training", value=False)
            self._about = ui.label().classes("lab-small")
        self._refusal = Refusal()
        self._note = ui.label().classes("lab-small").props('role="status"')

    def _box(self, name: str, *, value: bool) -> ui.checkbox:
        box = ui.checkbox(name, value=value, on_change=self._check)
        return box.props(f'dense aria-label="{name}"')

    def show(self, feed: RunFeed | None) -> None:
        """Show the button to evaluate a run, or to cancel the running evaluation."""
        self._feed = feed
        evaluation = self._state.under_way
        is_permitted = feed is not None and self._state.may_change(feed)
        self._test.set_visibility(evaluation is None)
        self._cancel.set_visibility(evaluation is not None and is_permitted)
        self._episodes.set_visibility(evaluation is None)
        self._settings.set_visibility(evaluation is None and is_permitted)
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
        self._show_settings()
        why = self._why_not(self._feed) or (None if self._episode_count else wrong)
        self._test.set_enabled(why is None)
        default = (
            "Plays complete episodes with the newest policy of the shown run and records a video "
            "of the first ones."
        )
        self._tooltip.set_text(why or default)

    def _why_not(self, feed: RunFeed | None) -> str | None:
        if feed is None or feed.is_deleted:
            return "There is no policy to evaluate yet. Train first."
        if not self._state.may_change(feed):
            return "This run is not yours. Only its owner may evaluate it."
        return None if feed.has_policy else "This run has no policy yet. Train it first."

    def _show_settings(self) -> None:
        """Offer only what the run has, and tell what the chosen settings measure."""
        config = None if self._feed is None else readable_config(self._feed.run)
        disturbances = () if config is None else config.wrappers.disturbances
        samples = config is None or get_algorithm(config.algorithm).samples_actions
        is_final = self._family.value == SeedFamily.FINAL
        self._disturbances.set_visibility(bool(disturbances) and not is_final)
        self._deterministic.set_visibility(samples and not is_final)
        if is_final:
            text = (
                f"The final policy on the same seeds as every other run, deterministic; from "
                f"{MIN_FINAL_EPISODES} episodes on, the mean is the score of the run."
            )
        elif not self._deterministic.value:
            text = "Actions are sampled, as in training (DQN: with its final epsilon)."
        else:
            text = "The policy's best actions, on seeds of which no choice depends."
        if disturbances and not is_final:
            names = ", ".join(name.replace("_", " ") for name in disturbances)
            text += f" {'With' if self._disturbances.value else 'Without'} {names}."
        self._about.set_text(text)

    async def _start(self, code: str | None = None) -> None:
        if (count := self._episode_count) is None:
            return
        is_final = self._family.value == SeedFamily.FINAL
        await self._state.start(
            count,
            code=code,
            seed_family=SeedFamily(self._family.value),
            deterministic=is_final or bool(self._deterministic.value),
            disturbances=not is_final and bool(self._disturbances.value),
        )


def _progress(evaluation: Evaluation) -> str:
    if evaluation.status is EvaluationStatus.QUEUED:
        return "The evaluation is queued."
    return f"Evaluating: {evaluation.played} of {evaluation.episodes} episodes done."
