"""What a visit does with rewards: writes them for the form, looks at those of runs, branches."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.access.run_access import RunAccess
from app.authoring.rewards.personal_rewards import PersonalRewards
from app.catalog.environments.catalogue import environment_of_run
from app.runs.branching import BranchRequest
from app.runs.state.feed import RunFeed
from components.rewards.reward_editor import RewardEditor, RewardTask, WrittenReward
from components.run.run_reward import RunReward
from components.setup.setup_form import SetupForm
from storage.records.runs import RunFilter, RunRecord

_LOOKED_AT = 50
"""How many of the newest runs are searched for a written reward."""


class RewardDesk:
    """Opens one editor for all of it."""

    def __init__(
        self, rewards: PersonalRewards, trainer: RunAccess, *, refusal: str | None
    ) -> None:
        """`refusal` says why the visitor may not write code."""
        self._trainer = trainer
        self._refusal = refusal
        self._feed: RunFeed | None = None
        self._form: SetupForm | None = None
        self._editor = RewardEditor(rewards, last_run=self._last_run)
        self._run: RunReward | None = None

    def serve(self, form: SetupForm) -> None:
        """Write rewards for this form."""
        self._form = form
        form.reward.allow(self._refusal)

    def add_row(self) -> None:
        """Add the row that says what the run on stage learns from."""
        self._run = RunReward(on_show=self._show_run, on_mend=self._mend)

    def show(self, feed: RunFeed | None) -> None:
        """Speak of another run, or of news about it."""
        self._feed = feed
        if self._run is not None:
            self._run.show(feed, refusal=self._refusal)

    async def write(self) -> None:
        """Open the editor for the environment that is chosen in the form."""
        if (form := self._form) is None:
            return
        spec, code = form.picker.value, form.reward.code
        await self._open_for_form(
            RewardTask(
                spec=spec,
                env_kwargs=form.env_kwargs,
                code=code,
                use="Use this reward",
                on_use=self._use_in_form(spec.id),
            )
        )

    async def _open_for_form(self, task: RewardTask) -> None:
        if self._refusal is None:
            await self._editor.open(task)

    def _use_in_form(self, env_id: str) -> Callable[[WrittenReward], Awaitable[None]]:
        async def use(reward: WrittenReward) -> None:
            if self._form is not None:
                self._form.reward.use(env_id, reward)

        return use

    async def _mend(self, line: int) -> None:
        """Open the code of a failed run where it failed; it is then used for another run."""
        if self._feed is None or self._form is None:
            return
        run = self._feed.run
        spec = environment_of_run(run.env_id, run.config.get("env_kwargs"))
        self._form.picker.bring_up(spec)
        await self._open_for_form(
            RewardTask(
                spec=spec,
                env_kwargs=run.config.get("env_kwargs") or {},
                code=run.config["reward_code"],
                line=line,
                use="Use this reward",
                on_use=self._use_in_form(spec.id),
            )
        )

    async def _show_run(self) -> None:
        """Show what a run learns from; to write another one makes a branch."""
        if self._feed is None:
            return
        run = self._feed.run
        code = run.config.get("reward_code")
        await self._editor.open(
            RewardTask(
                spec=environment_of_run(run.env_id, run.config.get("env_kwargs")),
                env_kwargs=run.config.get("env_kwargs") or {},
                code=code,
                is_of_run=code is not None,
                may_write=self._refusal is None,
                use="Branch with this reward",
                on_use=lambda reward: self._branch(run.id, reward),
            )
        )

    async def _branch(self, run_id: str, reward: WrittenReward) -> None:
        wish = BranchRequest(reward_code=reward.code, start=True)
        made = await self._trainer.branch(run_id, wish)
        ui.navigate.to(f"/runs/{made.id}")

    async def _last_run(self, env_id: str) -> RunRecord | None:
        page = await self._trainer.list(RunFilter(env_id=env_id), limit=_LOOKED_AT)
        return next((run for run in page.items if run.config.get("reward_code")), None)
