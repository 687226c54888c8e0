"""Hear a worker out that runs a person's code, unless that code keeps Python itself busy."""

import asyncio

from app.protocol.user_code import HangingError, UserCodeError, crashed_place, hanging_place
from app.workers.local_worker import LocalWorker, Received, WorkerGoneError

_LOOK_EVERY_S = 0.5


async def receive_unless_hanging(worker: LocalWorker) -> Received:
    """Return the next thing that the worker says.

    Raises:
        UserCodeError: if the code hangs or has crashed the worker, with its line.
        WorkerGoneError: if the worker ended and nobody knows where.
    """
    answer = asyncio.ensure_future(worker.receive())
    try:
        while not answer.done():
            await asyncio.wait([answer], timeout=_LOOK_EVERY_S)
            check_hanging(worker)
        return answer.result()
    except WorkerGoneError as error:
        raise crash(worker, error) from None
    finally:
        answer.cancel()
        # Nobody else may read from the worker before this one has let go.
        await asyncio.wait([answer])


def check_hanging(worker: LocalWorker) -> None:
    """Look whether the worker printed where it hangs.

    Raises:
        UserCodeError: if so.
    """
    if (place := hanging_place(worker.printed)) is not None:
        raise UserCodeError(str(HangingError(place.filename, place.line)), place.line)


def crash(worker: LocalWorker, error: WorkerGoneError) -> UserCodeError | WorkerGoneError:
    """Say in which line a person's code crashed the worker, if that was it."""
    if (place := crashed_place(worker.printed)) is None:
        return error
    text = f"{place.filename}, line {place.line}: it crashed the worker ({error})"
    return UserCodeError(text, place.line)
