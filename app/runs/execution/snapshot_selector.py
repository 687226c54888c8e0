"""Choose the policy snapshots of one run that the time machine records."""

from collections.abc import Awaitable, Callable

from app.core import Tasks
from app.runs.execution.time_machine import TimeMachine
from app.runs.state import RunFeed
from app.workers import PackedPolicy, WorkerGoneError


class SnapshotSelector:
    """Selects every checkpoint; short runs, which have few, get more snapshots in between."""

    def __init__(
        self,
        feed: RunFeed,
        machine: TimeMachine,
        newest_policy: Callable[[], Awaitable[PackedPolicy]],
        *,
        renders: bool,
    ) -> None:
        """`newest_policy` requests the current policy from the worker."""
        self._feed = feed
        self._machine = machine
        self._newest_policy = newest_policy
        self._is_on = renders and machine.clips_kept > 0
        self._latest: int | None = None
        self._is_requesting = False
        self._tasks = Tasks()

    async def keep(self, timesteps: int, policy: bytes) -> None:
        """Pass on a snapshot whose policy is a frame for a worker."""
        if self._is_on:
            self._latest = max(timesteps, self._latest or 0)
            await self._machine.add_snapshot(self._feed.run.id, timesteps, policy)

    def progressed(self, timesteps: int) -> None:
        """Request the policy if the last snapshot is old enough."""
        every = self._feed.run.total_timesteps / max(1, self._machine.clips_kept)
        is_due = self._latest is not None and timesteps - self._latest >= every
        if self._is_on and is_due and not self._is_requesting:
            self._is_requesting = True
            self._tasks.start(self._take_snapshot(), name=f"snapshot of {self._feed.run.id}")

    async def close(self) -> None:
        """Cancel a pending request."""
        await self._tasks.cancel()

    async def _take_snapshot(self) -> None:
        try:
            policy = await self._newest_policy()
        except WorkerGoneError:
            return
        finally:
            self._is_requesting = False
        await self.keep(policy.header.timesteps, policy.frame)
