"""Ask a worker that trains for its policy as it is now."""

import asyncio

from app.protocol import commands, messages
from app.workers.errors import WorkerGoneError
from app.workers.local_worker import HandedOut, LocalWorker


class WeightRequests:
    """Hands the next policy that the worker sends for this to everybody who waits for one."""

    def __init__(self) -> None:
        self._worker: LocalWorker | None = None
        self._is_decided = asyncio.Event()
        self._next: asyncio.Future[HandedOut] | None = None

    def begin(self, worker: LocalWorker) -> None:
        """Let requests through: the worker has its job."""
        self._worker = worker
        self._is_decided.set()

    async def ask(self) -> HandedOut:
        """Return the policy as it is now, or as soon as the worker looks up.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        await self._is_decided.wait()
        if self._worker is None:
            raise WorkerGoneError
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            self._worker.send(messages.encode(commands.HandOut()))
        # Whoever asked may go away; others may wait for the same.
        return await asyncio.shield(self._next)

    def answer(self, policy: HandedOut) -> None:
        """Give out what the worker sent."""
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.set_result(policy)

    def close(self) -> None:
        """Tell those who still wait that the run is over."""
        self._worker = None
        self._is_decided.set()
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting.set_exception(WorkerGoneError())
            # Nobody may be left to hear of it.
            waiting.exception()
