"""Have a locked worker look at a file, or make another of it."""

import asyncio

from app.errors import InputError
from app.training.backend import LocalWorker, Piece, ProtocolError, Received, WorkerGoneError
from app.training.workers import WorkerPool
from app.worker import messages, orders

_WITHIN_S = 120.0
_LARGEST = 256 << 20


async def ask_worker(
    pool: WorkerPool,
    order: orders.Examine | orders.Adopt | orders.Export,
    sent: tuple[messages.FileName, bytes],
    *,
    field: str,
) -> bytes | messages.Examined:
    """Return the file that a worker makes of one that it is sent, or what it says of it.

    Raises:
        InputError: if it refuses, with its reason; `field` is what was asked for.
        ProtocolError, WorkerGoneError, TimeoutError: if it comes to no end.
    """
    async with asyncio.timeout(_WITHIN_S), pool.helpers.for_a_test():
        worker = await pool.take()
        try:
            worker.send(messages.encode(order))
            await worker.send_file(*sent)
            return await _answer(worker, field)
        finally:
            worker.kill()
            await worker.wait()


NO_ANSWER = (WorkerGoneError, ProtocolError, TimeoutError)
"""What `ask_worker` raises where a worker comes to no end."""


async def _answer(worker: LocalWorker, field: str) -> bytes | messages.Examined:
    made = bytearray()
    while True:
        match await worker.receive():
            case messages.Examined() as said:
                return said
            case Piece(header=header, content=piece):
                made += piece
                if len(made) > _LARGEST:
                    raise ProtocolError("it is too large")
                if header.last:
                    return bytes(made)
            case messages.Alive():
                continue
            case other:
                raise _why_not(other, field)


def _why_not(said: Received, field: str) -> Exception:
    match said:
        case messages.Refused(why=why):
            return InputError(why, field=field)
        case messages.Failed(reason=reason):
            return ProtocolError(reason)
    return ProtocolError(f"the worker said {type(said).__name__}")
