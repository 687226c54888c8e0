"""What people ask of a run while it trains, until its worker has taken it up."""

import asyncio
from collections import deque

from app.protocol import messages
from app.workers.errors import ProtocolError, WorkerGoneError
from app.workers.local_worker import LocalWorker


class ChangeRequests:
    """Sends changes to a worker and remembers which of them it hasn't confirmed."""

    def __init__(self) -> None:
        self._worker: LocalWorker | None = None
        self._is_decided = asyncio.Event()
        self._open: deque[tuple[messages.Change, asyncio.Future[None]]] = deque()

    def begin(self, worker: LocalWorker) -> None:
        """Let changes through: the worker has its job."""
        self._worker = worker
        self._is_decided.set()

    async def ask(self, change: messages.Change) -> None:
        """Send a change, and return once the run goes on with it.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        await self._is_decided.wait()
        if self._worker is None:
            raise WorkerGoneError
        done = asyncio.get_running_loop().create_future()
        self._open.append((change, done))
        self._worker.send(messages.encode(change))
        # Whoever asked may go away; the change still comes.
        await asyncio.shield(done)

    def take(self) -> tuple[messages.Change, asyncio.Future[None]]:
        """Return the change that the worker just confirmed: what was sent, not what it says.

        Raises:
            ProtocolError: if nobody asked for one.
        """
        if not self._open:
            raise ProtocolError("a change that nobody asked for")
        return self._open.popleft()

    def close(self) -> None:
        """Tell those who still wait that the run is over."""
        self._worker = None
        self._is_decided.set()
        for _, waiting in self._open:
            if not waiting.done():
                waiting.set_exception(WorkerGoneError())
                # Nobody may be left to hear of it.
                waiting.exception()
        self._open.clear()
