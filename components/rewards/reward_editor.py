"""The reward lab: write a custom reward, check it and use it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui

from app.accounts import Principal
from app.authoring.rewards import RewardLab, RewardReport, words_of
from app.authoring.rewards.templates import templates_for
from app.catalog.environments import EnvSpec
from app.code_check import Problem
from app.run_config import reward_code_of
from components.base import Refusal, compact_button, explained
from components.code_editor import CodeEditor, Handlers
from components.rewards.reward_results import RewardResults
from storage import LabError
from storage.records import RunRecord

_FIELD = "dense outlined hide-bottom-space options-dense"
_ALONE = "Nothing"
_DEFAULT = "The default"


@dataclass(frozen=True, slots=True)
class ChosenReward:
    """A custom reward that the user chose."""

    code: str
    name: str
    terms: tuple[str, ...] = ()
    """Its reward terms; empty if it wasn't checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardTask:
    """What the editor opens, and what happens with the result."""

    spec: EnvSpec
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None
    """None: the default reward of the environment."""
    line: int | None = None
    """The line to reveal."""
    is_of_run: bool = False
    """Whether it belongs to a run; it then opens read-only until the user presses Edit."""
    may_write: bool = True
    use: str
    """The label of the button that uses the reward."""
    on_use: Callable[[ChosenReward], Awaitable[None]]


class RewardEditor:
    """A full-window dialog, created when it is first opened."""

    def __init__(
        self,
        rewards: RewardLab,
        principal: Principal,
        *,
        last_run: Callable[[str], Awaitable[RunRecord | None]],
    ) -> None:
        """`last_run` returns the newest run of an environment with a custom reward."""
        self._rewards = rewards
        self._principal = principal
        self._last_run = last_run
        self._place = ui.element("div")
        self._dialog: ui.dialog | None = None
        self._task: RewardTask | None = None
        self._checked: tuple[str, RewardReport] | None = None
        self._starts: dict[str, str] = {}
        self._others: dict[str, str] = {}

    async def open(self, task: RewardTask) -> None:
        """Open a reward to edit or view."""
        if self._dialog is None:
            with self._place:
                self._dialog = self._draw()
        self._task = task
        templates = templates_for(task.spec)
        self._title.set_text(f"Reward for {task.spec.id}")
        self._checked = None
        self._results.clear()
        self._refusal.say("")
        self._editor.offer(words_of(task.spec))
        self._editor.write(templates[0].code if task.code is None else task.code)
        self._editor.compare(None)
        self._set_editable(not task.is_of_run)
        self._dialog.open()
        if task.line is not None:
            self._editor.reveal(task.line)
        await self._list_versions()
        await self._find_others(templates[0].code)

    def _draw(self) -> ui.dialog:
        dialog = ui.dialog().props("maximized persistent no-shake transition-duration=0")
        with dialog, ui.element("div").classes("lab-panel lab-reward") as box:
            box.props('role="dialog" aria-modal="true" aria-label="Reward lab"')
            with ui.element("div").classes("lab-panel-head"), ui.element("h2").classes("lab-label"):
                self._title = ui.label()
            with ui.element("div").classes("lab-reward-columns"):
                with ui.element("div").classes("lab-reward-code"):
                    self._draw_choices()
                    on = Handlers(changed=self._changed, save=self._save)
                    self._editor = CodeEditor("", label="Reward", check=self._lint, on=on)
                    explained("reward_code")
                with ui.element("div").classes("lab-reward-side"):
                    self._draw_actions()
                    self._refusal = Refusal()
                    self._results = RewardResults()
        return dialog

    def _draw_choices(self) -> None:
        with ui.element("div").classes("lab-reward-choices"):
            self._start = ui.select([], label="Start from", on_change=self._start_from)
            self._other = ui.select(
                [_ALONE], label="Compare with", value=_ALONE, on_change=self._compare
            )
            for choice in (self._start, self._other):
                choice.props(_FIELD).classes("lab-reward-choice")

    def _draw_actions(self) -> None:
        with ui.element("div").classes("lab-actions"):
            self._use = ui.button("", on_click=self._use_pressed, color=None)
            self._use.props("unelevated").classes("lab-button lab-compact lab-primary")
            self._check = compact_button("Check", self._check_pressed)
            self._edit = compact_button("Edit and branch", lambda: self._set_editable(True))
            ui.element("div").classes("lab-grow")
            compact_button("Close", self.close)

    def close(self) -> None:
        """Close the dialog."""
        if self._dialog is not None:
            self._dialog.close()

    def _set_editable(self, editable: bool) -> None:
        self._editor.set_editable(editable)
        self._start.set_visibility(editable)
        self._use.set_visibility(editable)
        self._use.set_text(self._task.use if self._task else "")
        may_edit = self._task is not None and self._task.may_write
        self._edit.set_visibility(not editable and may_edit)
        self._check.set_visibility(may_edit)

    async def _lint(self, code: str) -> Sequence[Problem]:
        return [] if self._task is None else await self._rewards.lint(code, self._task.spec)

    def _changed(self, _: str) -> None:
        if self._checked is not None:
            self._checked = None
            self._results.clear()

    async def _save(self, code: str) -> str:
        if self._task is None:
            return ""
        try:
            version = await self._rewards.versions.save(self._principal, self._task.spec.id, code)
        except LabError as error:
            return str(error)
        await self._list_versions()
        return f"Saved as version {version.number}"

    async def _list_versions(self) -> None:
        if (task := self._task) is None:
            return
        self._starts = {template.name: template.code for template in templates_for(task.spec)}
        for version in await self._rewards.versions.list(self._principal, task.spec.id):
            when = version.saved_at.astimezone().strftime("%d %b %H:%M")
            self._starts[f"Version {version.number}, {when}"] = version.code
        self._start.set_options(list(self._starts), value=None)

    def _start_from(self) -> None:
        code = self._starts.get(self._start.value or "")
        if code is not None:
            self._editor.write(code)

    async def _find_others(self, default: str) -> None:
        self._others = {_DEFAULT: default}
        run = await self._last_run(self._task.spec.id) if self._task else None
        if run is not None and (code := reward_code_of(run)):
            self._others[f"Run {run.name}"] = code
        self._other.set_options([_ALONE, *self._others], value=_ALONE)

    def _compare(self) -> None:
        name = self._other.value
        self._editor.compare(self._others.get(name), name[:1].lower() + name[1:])

    async def _check_pressed(self) -> None:
        if (task := self._task) is None:
            return
        code = self._editor.text
        self._refusal.say("")
        self._results.wait()
        self._check.props("loading")
        try:
            report = await self._rewards.check(self._principal, code, task.spec.id, task.env_kwargs)
        except LabError as error:
            self._results.fail(str(error))
            return
        finally:
            self._check.props(remove="loading")
        if code == self._editor.text:
            self._checked = code, report
            self._results.show(report)
            self._editor.underline(report.problems)

    async def _use_pressed(self) -> None:
        if (task := self._task) is None:
            return
        self._use.props("loading")
        try:
            if reward := await self._ready(self._editor.text, task):
                await task.on_use(reward)
                self.close()
        except LabError as error:
            self._refusal.say(str(error))
        finally:
            self._use.props(remove="loading")

    async def _ready(self, code: str, task: RewardTask) -> ChosenReward | None:
        """Save the reward as a version and return it, or None if it has errors."""
        problems = [one for one in await self._rewards.lint(code, task.spec) if one.is_error]
        if problems:
            where = f"line {problems[0].line}"
            self._refusal.say(f"Fix {where} first: {problems[0].message}")
            return None
        version = await self._rewards.versions.save(self._principal, task.spec.id, code)
        checked = self._checked
        terms = checked[1].terms if checked is not None and checked[0] == code else ()
        return ChosenReward(code, f"version {version.number}", tuple(one.name for one in terms))
