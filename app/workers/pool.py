"""Workers, each for one job, and the few places for those beside training."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from app.protocol import commands, messages
from app.workers.errors import NoWorkerError, ProtocolError, TooLongError, WorkerGoneError
from app.workers.job import Job
from app.workers.local_worker import LocalWorker
from app.workers.side_slots import SideSlots

_LOCKED_WITHIN_S = 120.0

LARGEST_PICTURE = 4 << 20
"""No picture that a worker delivers is larger, in bytes."""

File = tuple[str, bytes]
"""What a worker is sent with its job."""


class WorkerPool:
    """Starts workers and makes sure that they are locked down."""

    def __init__(self, *, memory_mb: int, side_slots: int) -> None:
        self.side_slots = SideSlots(side_slots)
        """Who may have a worker beside training, taken before `start`."""
        self.promised_layers: tuple[str, ...] = ()
        """What the check at the start found; a worker with less is not used."""
        self._memory_mb = memory_mb

    @asynccontextmanager
    async def job(
        self,
        command: commands.Job,
        *,
        file: File | None = None,
        slot: AbstractAsyncContextManager[None] | None = None,
        within_s: float | None = None,
        patient: bool = False,
    ) -> AsyncIterator[Job]:
        """Give a worker a job, with the file that belongs to it, and end it afterwards.

        `within_s` counts from now, the wait for a slot included.

        Raises:
            JobError: if there is no worker, or it does not do its job.
        """
        try:
            async with asyncio.timeout(within_s), slot or nullcontext():
                worker = await self.start(patient=patient)
                try:
                    worker.send(messages.encode(command))
                    if file is not None:
                        await _send(worker, *file)
                    yield Job(worker)
                finally:
                    await _end(worker)
        except TimeoutError:
            if within_s is None:
                raise  # It is of whoever uses the job.
            raise TooLongError(within_s) from None

    async def start(self, *, patient: bool = False) -> LocalWorker:
        """Return a worker that waits for its job; a patient one lets all others go first.

        Raises:
            NoWorkerError: if it can't be started.
        """
        worker = LocalWorker(memory_mb=self._memory_mb)
        try:
            async with asyncio.timeout(_LOCKED_WITHIN_S):
                self._check(await worker.start())
        except TimeoutError:
            await _end(worker)
            raise NoWorkerError(f"it was not ready within {_LOCKED_WITHIN_S:g} s") from None
        except (WorkerGoneError, ProtocolError, OSError) as error:
            await _end(worker)
            raise NoWorkerError(str(error)) from error
        except BaseException:
            await _end(worker)
            raise
        if patient:
            worker.be_patient()
        return worker

    def _check(self, locked: messages.Locked) -> None:
        if not set(self.promised_layers) <= set(locked.layers):
            raise ProtocolError("it is not locked down as the check at the start was")


async def _send(worker: LocalWorker, name: str, content: bytes) -> None:
    try:
        await worker.send_file(name, content)
    except ConnectionError:
        raise WorkerGoneError from None


async def _end(worker: LocalWorker) -> None:
    worker.kill()
    await worker.wait()
