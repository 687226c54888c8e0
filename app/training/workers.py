"""A few workers kept ready, so that nobody waits for torch to be imported."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from app.tasks import Tasks
from app.training.backend import LocalWorker, ProtocolError, Received, Role, WorkerGoneError
from app.training.helper_slots import HelperSlots
from app.worker import messages

_REFILL_AFTER_S = 5.0
"""After one was taken its job needs the processor more than its successor does."""
_REFILL_WHEN_BUSY_S = 60.0
"""To import everything takes seconds of a core, and then every core has a run to train."""
_RETRY_AFTER_S = 30.0
_READY_WITHIN_S = 120.0


class WorkerPool:
    """Starts workers, each for one job; a few wait with everything imported."""

    def __init__(self, *, warm: int, memory_mb: int, helpers: int) -> None:
        self.helpers = HelperSlots(helpers)
        """Who may have a worker beside training, taken before `take`."""
        self.promised_layers: tuple[str, ...] = ()
        """What the check at the start found; a worker with less is not used."""
        self.is_busy: Callable[[], bool] = lambda: False
        """Whether every core has enough to do without workers being warmed."""
        self._wanted = warm
        self._memory_mb = memory_mb
        self._warm: deque[asyncio.Task[LocalWorker]] = deque()
        self._taken = asyncio.Event()
        self._tasks = Tasks()

    def open(self) -> None:
        """Begin to keep workers ready."""
        if self._wanted:
            self._tasks.start(self._keep_warm(), name="keep workers warm")

    async def take(self) -> LocalWorker:
        """Return a worker that waits for its job, a warm one if there is one.

        Raises:
            WorkerGoneError, ProtocolError: if it can't be started.
        """
        self._taken.set()
        while self._warm:
            with suppress(WorkerGoneError, ProtocolError):
                worker = await self._warm.popleft()
                if worker.is_alive:
                    return worker
        return await self._start()

    async def start_patient(self) -> LocalWorker:
        """Start a worker that never hurries, not even to get ready; the warm ones stay.

        Raises:
            WorkerGoneError, ProtocolError: if it can't be started.
        """
        return await self._start(patient=True)

    async def start_light(self, role: Role = "painter") -> LocalWorker:
        """Start a worker for what needs neither torch nor a policy.

        Raises:
            WorkerGoneError, ProtocolError: if it can't be started.
        """
        return await self._start(role)

    @asynccontextmanager
    async def light(self) -> AsyncIterator[LocalWorker]:
        """Hand out a worker as `start_light` starts it, and end it afterwards."""
        worker = await self.start_light()
        try:
            yield worker
        finally:
            await _end(worker)

    async def close(self) -> None:
        """End the workers that have no job."""
        await self._tasks.cancel()
        ready = [task.result() for task in self._warm if _succeeded(task)]
        self._warm.clear()
        await asyncio.gather(*map(_end, ready))

    async def _start(self, role: Role = "learner", *, patient: bool = False) -> LocalWorker:
        worker = LocalWorker(memory_mb=self._memory_mb)
        try:
            async with asyncio.timeout(_READY_WITHIN_S):
                await worker.start(role)
                if patient:
                    worker.be_patient()
                self._check(worker, await worker.receive())
        except TimeoutError:
            await _end(worker)
            raise ProtocolError(f"it was not ready within {_READY_WITHIN_S:g} s") from None
        except BaseException:
            await _end(worker)
            raise
        return worker

    def _check(self, worker: LocalWorker, said: Received) -> None:
        if not isinstance(said, messages.Ready):
            raise ProtocolError("it did not say that it is ready")
        if not set(self.promised_layers) <= set(worker.layers):
            raise ProtocolError("it is not locked down as the check at the start was")

    async def _keep_warm(self) -> None:
        while True:
            while len(self._warm) < self._wanted:
                task = self._tasks.start(self._start(), name="warm worker")
                self._warm.append(task)
                await asyncio.wait([task])
                if not _succeeded(task):
                    await asyncio.sleep(_RETRY_AFTER_S)
                    self._warm = deque(kept for kept in self._warm if kept is not task)
            self._taken.clear()
            await self._taken.wait()
            await asyncio.sleep(_REFILL_AFTER_S)
            if self.is_busy():
                await asyncio.sleep(_REFILL_WHEN_BUSY_S - _REFILL_AFTER_S)


async def _end(worker: LocalWorker) -> None:
    worker.kill()
    await worker.wait()


def _succeeded(task: asyncio.Task[LocalWorker]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
