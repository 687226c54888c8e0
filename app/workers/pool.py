"""Start workers, each for one job; side slots limit the number of those that don't train."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from app.protocol import commands, messages
from app.workers.errors import NoWorkerError, ProtocolError, TooLongError, WorkerGoneError
from app.workers.job import Job
from app.workers.local_worker import LocalWorker
from app.workers.side_slots import SideSlots
from app.workers.worker import Worker

_LOCKED_WITHIN_S = 120.0

MAX_IMAGE_BYTES = 4 << 20
"""The maximum size of an image from a worker, in bytes."""

File = tuple[str, bytes]
"""The name and content of a file that a worker gets with its job."""

Layers = Callable[[], Awaitable[Collection[str]]]
"""Returns the sandbox layers that the check at start-up found."""


async def _no_layers() -> Collection[str]:
    return ()


class WorkerPool:
    """Starts workers and makes sure that they are sandboxed."""

    def __init__(
        self, *, memory_mb: int, side_slots: int, expected_layers: Layers = _no_layers
    ) -> None:
        """`expected_layers`: a worker that lacks one of these is not used."""
        self.side_slots = SideSlots(side_slots)
        """Acquired before `start` by jobs other than training."""
        self._expected_layers = expected_layers
        self._memory_mb = memory_mb

    @asynccontextmanager
    async def job(
        self,
        command: commands.Job,
        *,
        file: File | None = None,
        slot: AbstractAsyncContextManager[None] | None = None,
        within_s: float | None = None,
        low_priority: bool = False,
    ) -> AsyncIterator[Job]:
        """Start a worker with a job, and its file if any; end the worker afterwards.

        `within_s` includes the wait for a slot.

        Raises:
            JobError: if there is no worker, or it does not complete its job.
        """
        try:
            async with asyncio.timeout(within_s), slot or nullcontext():
                worker = await self.start(low_priority=low_priority)
                try:
                    worker.send(messages.encode(command))
                    if file is not None:
                        await _send(worker, *file)
                    yield Job(worker)
                finally:
                    await _end(worker)
        except TimeoutError:
            if within_s is None:
                raise  # The caller's own timeout.
            raise TooLongError(within_s) from None

    async def start(self, *, low_priority: bool = False) -> Worker:
        """Return a worker that waits for its job; with low priority, all others run first.

        Raises:
            NoWorkerError: if it can't be started.
        """
        worker = LocalWorker(memory_mb=self._memory_mb)
        try:
            async with asyncio.timeout(_LOCKED_WITHIN_S):
                await self._check(await worker.start())
        except TimeoutError:
            await _end(worker)
            raise NoWorkerError(f"it was not ready within {_LOCKED_WITHIN_S:g} s") from None
        except (WorkerGoneError, ProtocolError, OSError) as error:
            await _end(worker)
            raise NoWorkerError(str(error)) from error
        except BaseException:
            await _end(worker)
            raise
        if low_priority:
            worker.lower_priority()
        return worker

    async def _check(self, locked: messages.Locked) -> None:
        if not set(await self._expected_layers()) <= set(locked.layers):
            raise ProtocolError("its sandbox is weaker than the check at start-up found")


async def _send(worker: Worker, name: str, content: bytes) -> None:
    try:
        await worker.send_file(name, content)
    except ConnectionError:
        raise WorkerGoneError from None


async def _end(worker: Worker) -> None:
    worker.kill()
    await worker.wait()
