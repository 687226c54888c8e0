"""Workers, each for one job, and the few places for those beside training."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.protocol import messages
from app.workers.local_worker import LocalWorker, ProtocolError
from app.workers.side_slots import SideSlots

_LOCKED_WITHIN_S = 120.0


class WorkerPool:
    """Starts workers and makes sure that they are locked down."""

    def __init__(self, *, memory_mb: int, helpers: int) -> None:
        self.helpers = SideSlots(helpers)
        """Who may have a worker beside training, taken before `start`."""
        self.promised_layers: tuple[str, ...] = ()
        """What the check at the start found; a worker with less is not used."""
        self._memory_mb = memory_mb

    async def start(self, *, patient: bool = False) -> LocalWorker:
        """Return a worker that waits for its job; a patient one lets all others go first.

        Raises:
            WorkerGoneError, ProtocolError, OSError: if it can't be started.
        """
        worker = LocalWorker(memory_mb=self._memory_mb)
        try:
            async with asyncio.timeout(_LOCKED_WITHIN_S):
                self._check(await worker.start())
            if patient:
                worker.be_patient()
        except TimeoutError:
            await _end(worker)
            raise ProtocolError(f"it was not ready within {_LOCKED_WITHIN_S:g} s") from None
        except BaseException:
            await _end(worker)
            raise
        return worker

    def _check(self, locked: messages.Locked) -> None:
        if not set(self.promised_layers) <= set(locked.layers):
            raise ProtocolError("it is not locked down as the check at the start was")

    @asynccontextmanager
    async def started(self) -> AsyncIterator[LocalWorker]:
        """Start a worker and end it afterwards."""
        worker = await self.start()
        try:
            yield worker
        finally:
            await _end(worker)


async def _end(worker: LocalWorker) -> None:
    worker.kill()
    await worker.wait()
