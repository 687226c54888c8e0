"""Opens the reward editor for the training form, for the reward of a run, and for branches."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.access import Access
from app.authoring.rewards import RewardLab
from app.catalog.environments import environment_of_run
from app.run_config import config_of, reward_code_of
from app.runs import BranchRequest, RunService
from app.runs.state import RunFeed
from components.rewards import ChosenReward, RewardEditor, RewardTask
from components.run import RunReward
from components.setup.setup_form import SetupForm
from storage.records import RunFilter, RunRecord

_SEARCHED_RUNS = 50
"""How many of the newest runs are searched for a custom reward."""


class RewardEditing:
    """One editor that all parts of a page share."""

    def __init__(
        self, rewards: RewardLab, runs: RunService, access: Access, *, refusal: str | None
    ) -> None:
        """`refusal` is the reason why the user may not write code."""
        self._runs = runs
        self._access = access
        self._refusal = refusal
        self._feed: RunFeed | None = None
        self._form: SetupForm | None = None
        self._editor = RewardEditor(rewards, access.principal, last_run=self._last_run)
        self._run: RunReward | None = None

    def attach(self, form: SetupForm) -> None:
        """Set the form whose reward is edited."""
        self._form = form
        form.reward.allow(self._refusal)

    def add_row(self) -> None:
        """Add the row that shows the reward of the shown run."""
        self._run = RunReward(on_show=self._show_run, on_fix=self._fix)

    def show(self, feed: RunFeed | None) -> None:
        """Show another run, or the new state of the same one."""
        self._feed = feed
        if self._run is not None:
            self._run.show(feed, refusal=self._refusal)

    async def edit_for_form(self) -> None:
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

    def _use_in_form(self, env_id: str) -> Callable[[ChosenReward], Awaitable[None]]:
        async def use(reward: ChosenReward) -> None:
            if self._form is not None:
                self._form.reward.use(env_id, reward)

        return use

    async def _fix(self, line: int) -> None:
        """Open the code of a failed run at the failing line; the fixed code goes to the form."""
        if self._feed is None or self._form is None:
            return
        config = config_of(self._feed.run)
        spec = environment_of_run(config.env_id, config.env_kwargs)
        self._form.picker.pick_and_reveal(spec)
        await self._open_for_form(
            RewardTask(
                spec=spec,
                env_kwargs=config.env_kwargs,
                code=config.reward_code,
                line=line,
                use="Use this reward",
                on_use=self._use_in_form(spec.id),
            )
        )

    async def _show_run(self) -> None:
        """Show the reward of a run; using an edited one creates a branch."""
        if self._feed is None:
            return
        run = self._feed.run
        config = config_of(run)
        await self._editor.open(
            RewardTask(
                # Rewards get the environment's own actions, whichever the agent has.
                spec=environment_of_run(run.env_id, config.env_kwargs),
                env_kwargs=config.env_kwargs,
                code=config.reward_code,
                is_of_run=config.reward_code is not None,
                may_write=self._refusal is None,
                use="Branch with this reward",
                on_use=lambda reward: self._branch(run.id, reward),
            )
        )

    async def _branch(self, run_id: str, reward: ChosenReward) -> None:
        request = BranchRequest(reward_code=reward.code, start=True)
        branch = await self._access.branch(await self._access.visible(run_id), request)
        ui.navigate.to(f"/runs/{branch.id}")

    async def _last_run(self, env_id: str) -> RunRecord | None:
        page = await self._runs.list(
            self._access.seen(RunFilter(env_id=env_id)), limit=_SEARCHED_RUNS
        )
        return next((run for run in page.items if reward_code_of(run)), None)
