"""The column with the training form, the evaluation controls and the latest runs."""

from collections.abc import Awaitable, Callable

from app.access import Access
from app.catalog.environments import EnvSpec
from app.discovery import EnvironmentFinder
from app.run_config import RunRequest
from app.runs import RunService
from app.runs.state import RunFeed
from components.base import panel
from components.evaluation import EvaluationControls, EvaluationState
from components.history import RunList
from components.run import why_not_train
from components.setup import RewardEditing, SetupForm
from storage.records import RunFilter

_LATEST_RUNS = 8


class SetupColumn:
    """Holds the settings of the next run."""

    def __init__(
        self,
        runs: RunService,
        environments: EnvironmentFinder,
        access: Access,
        *,
        state: EvaluationState,
        rewards: RewardEditing,
        on_train: Callable[[RunRequest], Awaitable[None]],
        on_environment: Callable[[], None],
    ) -> None:
        self._service = runs
        self._environments = environments
        self._access = access
        with panel("Setup", place="setup"):
            self.form = SetupForm(
                on_train=on_train,
                on_environment=on_environment,
                on_reward=rewards.edit_for_form,
                find=self._find,
                refusal=why_not_train(access.principal),
            )
            rewards.attach(self.form)
            self._evaluation = EvaluationControls(state)
        with panel("Latest runs", flush=True, place="runs"):
            self._runs = RunList()

    def show(self, feed: RunFeed | None) -> None:
        """Update the column for the current state of the displayed run."""
        self.form.set_busy(feed is not None and feed.run.status.is_active)
        self._evaluation.show(feed)
        if feed is not None:
            self._runs.show_score(feed.run)

    async def list_runs(self, feed: RunFeed | None) -> None:
        """List the latest runs and mark the displayed one."""
        page = await self._service.list(self._access.seen(RunFilter()), limit=_LATEST_RUNS)
        self._runs.show(page.items, feed.run.id if feed else None)

    async def _find(self, env_id: str) -> EnvSpec:
        return await self._environments.find(env_id, ask_worker=self._access.principal.may_work)
