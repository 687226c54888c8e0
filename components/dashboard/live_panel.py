"""The live panel: the frames of a run, its controls, and its adjustable values."""

from collections.abc import Awaitable, Callable

from app.access import Access
from app.run_config import config_of, derive
from app.runs import RunService
from app.runs.state import RunFeed
from components.base import Refusal, panel
from components.evaluation import EvaluationState
from components.run import Change, Handlers, LiveFeed, Train, allowed_actions
from components.setup import LiveChanges, RewardEditing
from storage import LabError
from storage.records import ChangeableRun, RunRecord


class LivePanel:
    """Sends a request for each button; the status of the run shows when it is fulfilled."""

    def __init__(
        self,
        runs: RunService,
        access: Access,
        *,
        state: EvaluationState,
        rewards: RewardEditing,
        on_train: Train,
        on_change: Change,
        on_reset: Callable[[], None],
    ) -> None:
        self._access = access
        self._rewards = rewards
        self._on_train = on_train
        self._feed: RunFeed | None = None
        handlers = Handlers(
            pause=lambda: self._request("run_paused", runs.pause),
            resume=lambda: self._request("run_resumed", runs.resume, trains=True),
            stop=lambda: self._request("run_stopped", runs.stop),
            again=self._train_again,
        )
        with panel("Live feed", flush=True, place="live") as head:
            self._live = LiveFeed(head, on=handlers, on_reset=on_reset, state=state)
            self._refusal = Refusal()
            self._live_changes = LiveChanges(on_change=on_change)
            rewards.add_row()

    def show(self, feed: RunFeed | None, *, chosen_env_id: str, place: int | None) -> None:
        """Show the current state of a run; `place` is its position in the queue."""
        self._feed = feed
        allowed = allowed_actions(self._access.principal, feed)
        self._live.show(feed, chosen_env_id=chosen_env_id, place=place, allowed=allowed)
        self._live_changes.show(feed)
        self._rewards.show(feed)

    async def _train_again(self) -> None:
        if self._feed is not None:
            await self._refusal.watch(self._train_like(self._feed.run))

    async def _train_like(self, run: RunRecord) -> None:
        await self._on_train(derive(config_of(run)))

    async def _request(
        self,
        audit_action: str,
        action: Callable[[ChangeableRun], Awaitable[RunRecord]],
        *,
        trains: bool = False,
    ) -> None:
        if self._feed is None:
            return
        self._refusal.say("")
        try:
            async with self._access.changing(self._feed.run.id, audit_action, trains=trains) as run:
                await action(run)
        except LabError as error:
            self._refusal.say(str(error))
