"""The reward lab: write a reward, see what it would pay for, and use it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from nicegui import ui

from app.authoring.rewards.completions import words_of
from app.authoring.rewards.report import RewardReport
from app.authoring.rewards.templates.catalogue import templates_for
from app.catalog.environments.spec import EnvSpec
from app.code_check.problems import Problem
from components.base.buttons import compact_button
from components.base.explain import explained
from components.base.refusal import Refusal
from components.code_editor.code_editor import CodeEditor, Handlers
from components.rewards.reward_results import RewardResults
from storage.errors import LabError
from storage.files.reward_versions import RewardVersion
from storage.records.runs import RunRecord

_FIELD = "dense outlined hide-bottom-space options-dense"
_ALONE = "Nothing"
_DEFAULT = "The default"


class Rewards(Protocol):
    """What the lab does for who writes a reward."""

    async def lint(self, code: str, spec: EnvSpec) -> Sequence[Problem]:
        """Say what is wrong with code, without running it."""

    async def check(self, code: str, env_id: str, env_kwargs: Mapping[str, Any]) -> RewardReport:
        """Try it on recorded episodes."""

    async def versions(self, env_id: str) -> Sequence[RewardVersion]:
        """Return what was saved."""

    async def save(self, env_id: str, code: str) -> RewardVersion:
        """Keep it."""


@dataclass(frozen=True, slots=True)
class WrittenReward:
    """A reward that somebody decided to use."""

    code: str
    name: str
    terms: tuple[str, ...] = ()
    """What it is made of, as far as a check has told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardTask:
    """What the editor is opened for."""

    spec: EnvSpec
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    code: str | None = None
    """None: the default of the environment."""
    line: int | None = None
    """Where to look first."""
    is_of_run: bool = False
    """Whether it belongs to a run, so that it is shown first, and changed only on request."""
    may_write: bool = True
    use: str
    """What the button says that ends it well."""
    on_use: Callable[[WrittenReward], Awaitable[None]]


class RewardEditor:
    """A dialog as large as the window, made when it is opened for the first time."""

    def __init__(
        self, rewards: Rewards, *, last_run: Callable[[str], Awaitable[RunRecord | None]]
    ) -> None:
        """`last_run` finds the newest run with a written reward for an environment."""
        self._rewards = rewards
        self._last_run = last_run
        self._place = ui.element("div")
        self._dialog: ui.dialog | None = None
        self._task: RewardTask | None = None
        self._checked: tuple[str, RewardReport] | None = None
        self._starts: dict[str, str] = {}
        self._others: dict[str, str] = {}

    async def open(self, task: RewardTask) -> None:
        """Let somebody write, or look at, a reward."""
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
        self._let_write(not task.is_of_run)
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
            self._start = ui.select([], label="Start from", on_change=self._begin_with)
            self._other = ui.select(
                [_ALONE], label="Compare with", value=_ALONE, on_change=self._compare
            )
            for choice in (self._start, self._other):
                choice.props(_FIELD).classes("lab-reward-choice")

    def _draw_actions(self) -> None:
        with ui.element("div").classes("lab-actions"):
            self._use = ui.button("", on_click=self._use_it, color=None)
            self._use.props("unelevated").classes("lab-button lab-compact lab-primary")
            self._check = compact_button("Check", self._check_it)
            self._edit = compact_button("Edit and branch", lambda: self._let_write(True))
            ui.element("div").classes("lab-grow")
            compact_button("Close", self.close)

    def close(self) -> None:
        """Close it; what was written is there when it is opened again."""
        if self._dialog is not None:
            self._dialog.close()

    def _let_write(self, may: bool) -> None:
        self._editor.let_write(may)
        self._start.set_visibility(may)
        self._use.set_visibility(may)
        self._use.set_text(self._task.use if self._task else "")
        may_edit = self._task is not None and self._task.may_write
        self._edit.set_visibility(not may and may_edit)
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
            version = await self._rewards.save(self._task.spec.id, code)
        except LabError as error:
            return str(error)
        await self._list_versions()
        return f"Saved as version {version.number}"

    async def _list_versions(self) -> None:
        if (task := self._task) is None:
            return
        self._starts = {template.name: template.code for template in templates_for(task.spec)}
        for version in await self._rewards.versions(task.spec.id):
            when = version.saved_at.astimezone().strftime("%d %b %H:%M")
            self._starts[f"Version {version.number}, {when}"] = version.code
        self._start.set_options(list(self._starts), value=None)

    def _begin_with(self) -> None:
        code = self._starts.get(self._start.value or "")
        if code is not None:
            self._editor.write(code)

    async def _find_others(self, default: str) -> None:
        self._others = {_DEFAULT: default}
        run = await self._last_run(self._task.spec.id) if self._task else None
        if run is not None:
            self._others[f"Run {run.name}"] = run.config["reward_code"]
        self._other.set_options([_ALONE, *self._others], value=_ALONE)

    def _compare(self) -> None:
        name = self._other.value
        self._editor.compare(self._others.get(name), name[:1].lower() + name[1:])

    async def _check_it(self) -> None:
        if (task := self._task) is None:
            return
        code = self._editor.text
        self._refusal.say("")
        self._results.wait()
        self._check.props("loading")
        try:
            report = await self._rewards.check(code, task.spec.id, task.env_kwargs)
        except LabError as error:
            self._results.fail(str(error))
            return
        finally:
            self._check.props(remove="loading")
        if code == self._editor.text:
            self._checked = code, report
            self._results.show(report)
            self._editor.underline(report.problems)

    async def _use_it(self) -> None:
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

    async def _ready(self, code: str, task: RewardTask) -> WrittenReward | None:
        """Save the reward and give it a name, unless something is wrong with it."""
        problems = [one for one in await self._rewards.lint(code, task.spec) if one.is_error]
        if problems:
            where = f"line {problems[0].line}"
            self._refusal.say(f"Mend {where} first: {problems[0].message}")
            return None
        version = await self._rewards.save(task.spec.id, code)
        checked = self._checked
        terms = checked[1].terms if checked is not None and checked[0] == code else ()
        return WrittenReward(code, f"version {version.number}", tuple(one.name for one in terms))
