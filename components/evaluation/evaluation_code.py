"""The dialog for evaluation code, which computes custom metrics of each episode."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from app.authoring.rewards import Word
from app.code_check import CodeKind, Problem, check
from app.evaluation import EvaluationStatus
from components.base import Refusal, heading, primary_button, quiet_button
from components.code_editor import UNSCALED_DIALOG, CodeEditor
from components.evaluation.state import EvaluationState

_EXAMPLE = '''def evaluate(episode):
    """Return metrics of one episode; the evaluation shows their means."""
    return {
        "reward_per_step": episode.return_ / episode.length,
        "terminated": episode.terminated,
    }
'''
_PARTS = (
    ("observations", "array", "The initial observation and the one after each step (length + 1)."),
    ("actions", "array", "The action of each step."),
    ("rewards", "array", "The reward of each step."),
    ("infos", "list of dicts", "The info of each step."),
    ("return_", "float", "The sum of the rewards."),
    ("length", "int", "The number of steps."),
    ("terminated", "bool", "Whether the episode terminated."),
    ("truncated", "bool", "Whether the episode was truncated, as by a time limit."),
    ("seed", "int", "The seed of its reset."),
)
_COMPLETIONS = (
    Word("episode", about="One complete episode of the evaluation."),
    *(Word(*part, of="episode", kind="Property") for part in _PARTS),
)


class EvaluationCode:
    """A button and the dialog that it opens; evaluates the shown run with the code."""

    def __init__(
        self, state: EvaluationState, *, on_evaluate: Callable[[str], Awaitable[None]]
    ) -> None:
        """`on_evaluate` starts an evaluation with the code; `state.refusal` is its error."""
        self._state = state
        self._on_evaluate = on_evaluate
        self._button = quiet_button("Evaluation code", self._open)
        self._button.classes("lab-test-code")
        with (
            ui.dialog().props(UNSCALED_DIALOG) as self._dialog,
            ui.card().classes("lab-panel lab-dialog is-code"),
        ):
            heading("Evaluation code")
            ui.label(
                "Receives each episode of an evaluation and returns a dict of named numbers. It "
                "runs in a sandboxed worker; a call may take five seconds."
            ).classes("lab-small")
            self._editor = CodeEditor(_EXAMPLE, label="Evaluation code", check=_check)
            self._editor.offer(_COMPLETIONS)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-actions"):
                primary_button("Test with this code", self._evaluate)
                quiet_button("Close", self._dialog.close)

    def show(self, *, is_offered: bool) -> None:
        """Show the button if an evaluation can be started."""
        self._button.set_visibility(is_offered)

    async def _open(self) -> None:
        self._refusal.say(await self._state.code_refusal() or self._failure())
        self._dialog.open()

    def _failure(self) -> str:
        """Return how the last evaluation with exactly this code failed, or ""."""
        evaluated = next((one for one in self._state.items if one.code is not None), None)
        is_same = evaluated is not None and evaluated.code == self._editor.text
        if evaluated is None or not is_same or evaluated.status is not EvaluationStatus.FAILED:
            return ""
        if evaluated.error_line is not None:
            self._editor.reveal(evaluated.error_line)
        return evaluated.error or ""

    async def _evaluate(self) -> None:
        await self._on_evaluate(self._editor.text)
        self._refusal.say(self._state.refusal)
        if not self._state.refusal:
            self._dialog.close()


async def _check(code: str) -> Sequence[Problem]:
    return await check(code, CodeKind.EVALUATION)
