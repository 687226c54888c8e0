"""One worker kept ready for a while, where somebody is likely to need the next one soon."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from app.tasks import Tasks
from app.training.backend import LocalWorker, ProtocolError, WorkerGoneError

_KEPT_S = 600.0


class SpareWorker:
    """Starts workers, and has the next one ready until nobody asked for ten minutes."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, LocalWorker]]) -> None:
        self._start = start
        self._next: asyncio.Task[LocalWorker | None] | None = None
        self._bored: asyncio.TimerHandle | None = None
        self._tasks = Tasks()

    def prepare(self) -> None:
        """Begin to have one ready, if there is none."""
        if self._next is None:
            self._next = self._tasks.start(self._try_to_start(), name="spare worker")
        if self._bored is not None:
            self._bored.cancel()
        self._bored = asyncio.get_running_loop().call_later(_KEPT_S, self._let_go)

    async def take(self) -> LocalWorker:
        """Return a worker, the one that is ready if there is one.

        Raises:
            WorkerGoneError, ProtocolError, OSError: if none can be started.
        """
        waiting, self._next = self._next, None
        worker = await waiting if waiting is not None else None
        return worker if worker is not None and worker.is_alive else await self._start()

    async def close(self) -> None:
        """End the one that is ready."""
        if self._bored is not None:
            self._bored.cancel()
        waiting, self._next = self._next, None
        if waiting is not None:
            await _end(waiting)
        await self._tasks.cancel()

    async def _try_to_start(self) -> LocalWorker | None:
        try:
            return await self._start()
        except (WorkerGoneError, ProtocolError, OSError):
            return None

    def _let_go(self) -> None:
        waiting, self._next = self._next, None
        if waiting is not None:
            self._tasks.start(_end(waiting), name="end spare worker")


async def _end(starting: asyncio.Task[LocalWorker | None]) -> None:
    if (worker := await starting) is not None:
        worker.kill()
        await worker.wait()
