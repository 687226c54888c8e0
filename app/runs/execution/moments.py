"""Choose the moments of one training that the time machine keeps."""

from collections.abc import Awaitable, Callable

from app.core.tasks import Tasks
from app.runs.execution.time_machine import TimeMachine
from app.runs.state.feed import RunFeed
from app.workers.errors import WorkerGoneError
from app.workers.local_worker import HandedOut


class Moments:
    """Every checkpoint is one; short runs, which have few of them, get some more in between."""

    def __init__(
        self,
        feed: RunFeed,
        machine: TimeMachine,
        ask: Callable[[], Awaitable[HandedOut]],
        *,
        renders: bool,
    ) -> None:
        """`ask` returns the policy as it is now."""
        self._feed = feed
        self._machine = machine
        self._ask = ask
        self._is_on = renders and machine.kept > 0
        self._latest: int | None = None
        self._is_asking = False
        self._tasks = Tasks()

    async def keep(self, timesteps: int, policy: bytes) -> None:
        """Keep a moment, whose policy is packed for a worker."""
        if self._is_on:
            self._latest = max(timesteps, self._latest or 0)
            await self._machine.remember(self._feed.run.id, timesteps, policy)

    def progressed(self, timesteps: int) -> None:
        """Ask for the policy if the last moment is long ago."""
        every = self._feed.run.total_timesteps / max(1, self._machine.kept)
        is_due = self._latest is not None and timesteps - self._latest >= every
        if self._is_on and is_due and not self._is_asking:
            self._is_asking = True
            self._tasks.start(self._keep_now(), name=f"a moment of {self._feed.run.id}")

    async def close(self) -> None:
        """Give up on what was asked for."""
        await self._tasks.cancel()

    async def _keep_now(self) -> None:
        try:
            policy = await self._ask()
        except WorkerGoneError:
            return
        finally:
            self._is_asking = False
        await self.keep(policy.header.timesteps, policy.frame)
