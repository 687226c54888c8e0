"""A dialog with code that judges each episode of a test by numbers of one's own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from app.authoring.rewards.completions import Word
from app.code_check.kinds import CodeKind
from app.code_check.problems import Problem
from app.code_check.static_check import check
from app.evaluation.evaluation import EvaluationStatus
from components.base.buttons import primary_button, quiet_button
from components.base.panel import heading
from components.base.refusal import Refusal
from components.code_editor.code_editor import UNSCALED, CodeEditor
from components.evaluation.evaluation_desk import EvaluationDesk

_EXAMPLE = '''def evaluate(episode):
    """Say numbers of a whole episode; the test shows their means."""
    return {
        "reward_per_step": episode.return_ / episode.length,
        "ended_by_itself": episode.terminated,
    }
'''
_PARTS = (
    ("observations", "array", "One more than steps: the first, and that after each step."),
    ("actions", "array", "What the policy did in each step."),
    ("rewards", "array", "What each step brought."),
    ("infos", "list of dicts", "What the environment told after each step."),
    ("return_", "float", "The sum of the rewards."),
    ("length", "int", "How many steps it had."),
    ("terminated", "bool", "Whether it ended by itself."),
    ("truncated", "bool", "Whether a time limit ended it."),
    ("seed", "int", "The seed that it began with."),
)
_WORDS = (
    Word("episode", about="One whole episode of the test, played to its end."),
    *(Word(*part, of="episode", kind="Property") for part in _PARTS),
)


class EvaluationCode:
    """Opened by a button; tests the run on stage with what was written."""

    def __init__(self, desk: EvaluationDesk, *, on_test: Callable[[str], Awaitable[None]]) -> None:
        """`on_test` begins a test with the code; the desk knows if that was refused."""
        self._desk = desk
        self._on_test = on_test
        self._button = quiet_button("Evaluation code", self._open)
        self._button.classes("lab-test-code")
        with (
            ui.dialog().props(UNSCALED) as self._dialog,
            ui.card().classes("lab-panel lab-dialog is-code"),
        ):
            heading("Evaluation code")
            ui.label(
                "Gets each episode of a test and returns a dict of named numbers. "
                "It runs in a locked worker; a call may take five seconds."
            ).classes("lab-small")
            self._editor = CodeEditor(_EXAMPLE, label="Evaluation code", check=_check)
            self._editor.offer(_WORDS)
            self._refusal = Refusal()
            with ui.element("div").classes("lab-actions"):
                primary_button("Test with this code", self._test)
                quiet_button("Close", self._dialog.close)

    def show(self, *, is_offered: bool) -> None:
        """Offer it where a test can begin."""
        self._button.set_visibility(is_offered)

    async def _open(self) -> None:
        self._refusal.say(await self._desk.code_refusal() or self._failure())
        self._dialog.open()

    def _failure(self) -> str:
        """Say how the last test with this very code failed, if it did."""
        judged = next((one for one in self._desk.items if one.code is not None), None)
        is_same = judged is not None and judged.code == self._editor.text
        if judged is None or not is_same or judged.status is not EvaluationStatus.FAILED:
            return ""
        if judged.error_line is not None:
            self._editor.reveal(judged.error_line)
        return judged.error or ""

    async def _test(self) -> None:
        await self._on_test(self._editor.text)
        self._refusal.say(self._desk.refusal)
        if not self._desk.refusal:
            self._dialog.close()


async def _check(code: str) -> Sequence[Problem]:
    return await asyncio.to_thread(check, code, CodeKind.EVALUATION)
