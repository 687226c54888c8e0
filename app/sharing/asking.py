"""Have a locked worker look at a file, or make another of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.core.errors import InputError
from app.protocol import commands, messages
from app.workers.local_worker import LocalWorker, Piece, ProtocolError, Received, WorkerGoneError
from app.workers.pool import WorkerPool

_WITHIN_S = 120.0
_LARGEST = 256 << 20

NO_ANSWER = (WorkerGoneError, ProtocolError, TimeoutError)
"""What is raised where a worker comes to no end, or says what nobody asked for."""


async def examine(pool: WorkerPool, model: bytes, *, field: str) -> messages.Examined:
    """Return what a worker says of a stranger's model.

    Raises:
        InputError: if it refuses, with its reason; `field` is what was asked for.
        NO_ANSWER: if it comes to no end.
    """
    async with _asked(pool, commands.Examine(), ("model.zip", model)) as worker:
        said = await _next(worker)
        if not isinstance(said, messages.Examined):
            raise _why_not(said, field)
        return said


async def make_file(
    pool: WorkerPool,
    order: commands.Adopt | commands.Export,
    sent: tuple[messages.FileName, bytes],
    wanted: messages.FileName,
    *,
    field: str,
) -> bytes:
    """Return the file that a worker makes of one that it is sent.

    Raises:
        InputError: if it refuses, with its reason; `field` is what was asked for.
        NO_ANSWER: if it comes to no end.
    """
    made = bytearray()
    async with _asked(pool, order, sent) as worker:
        while True:
            said = await _next(worker)
            if not isinstance(said, Piece) or said.header.name != wanted:
                raise _why_not(said, field)
            made += said.content
            if len(made) > _LARGEST:
                raise ProtocolError("it is too large")
            if said.header.last:
                return bytes(made)


@asynccontextmanager
async def _asked(
    pool: WorkerPool,
    order: commands.Examine | commands.Adopt | commands.Export,
    sent: tuple[messages.FileName, bytes],
) -> AsyncIterator[LocalWorker]:
    async with asyncio.timeout(_WITHIN_S), pool.helpers.for_a_test():
        worker = await pool.start()
        try:
            worker.send(messages.encode(order))
            await worker.send_file(*sent)
            yield worker
        finally:
            worker.kill()
            await worker.wait()


async def _next(worker: LocalWorker) -> Received:
    while isinstance(said := await worker.receive(), messages.Alive):
        pass
    return said


def _why_not(said: Received, field: str) -> Exception:
    match said:
        case messages.Refused(why=why):
            return InputError(why, field=field)
        case messages.Failed(reason=reason):
            return ProtocolError(reason)
    return ProtocolError(f"the worker said {type(said).__name__}")
