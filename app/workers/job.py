"""Run one job in a worker and get its answer."""

import asyncio
from typing import TypeVar

from app.protocol import UserCodeError, messages
from app.workers.errors import (
    Cause,
    JobFailedError,
    JobRefusedError,
    ProtocolError,
    TooLongError,
    WorkerGoneError,
)
from app.workers.worker import Piece, Received, Worker

Answer = TypeVar("Answer")


class Job:
    """A worker with its job: returns its answers, joins file pieces, raises its failures."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker

    async def next(self, *, within_s: float | None = None) -> Received:
        """Return the next message from the worker, skipping `Alive`.

        Raises:
            UserCodeError: if a user's code hangs or has crashed the worker, with its line.
            JobError: if the worker fails, refuses, ends, or exceeds the time limit.
        """
        try:
            async with asyncio.timeout(within_s):
                while isinstance(received := await self.worker.receive(), messages.Alive):
                    pass
        except TimeoutError:
            raise TooLongError(within_s or 0.0) from None
        except WorkerGoneError as error:
            if error.exit.cause is Cause.USER_CODE:
                raise UserCodeError(str(error), error.exit.line) from None
            raise
        match received:
            case messages.Failed(reason=reason, line=line):
                raise JobFailedError(reason, line)
            case messages.Refused(why=why):
                raise JobRefusedError(why)
        return received

    async def answer(self, *kinds: type[Answer]) -> Answer:
        """Return the next message, which must be of one of these kinds.

        Raises:
            UserCodeError, JobError: as `next`, and if it is of another kind.
        """
        received = await self.next()
        if not isinstance(received, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise ProtocolError(f"{type(received).__name__} instead of {names}")
        return received

    async def file(self, name: messages.FileName, *, at_most: int) -> bytes:
        """Return a file that the worker delivers in pieces.

        Raises:
            UserCodeError, JobError: as `next`, and if it is another file or too large.
        """
        pieces = Pieces(name, at_most=at_most)
        while not pieces.take(await self.answer(Piece)):
            pass
        return bytes(pieces.content)


class Pieces:
    """Joins the pieces of one file."""

    def __init__(self, name: messages.FileName, *, at_most: int) -> None:
        self.content = bytearray()
        self._name = name
        self._at_most = at_most

    def take(self, piece: Piece) -> bool:
        """Add a piece and return whether it was the last one.

        Raises:
            ProtocolError: if it is of another file, or the file gets too large.
        """
        if piece.header.name != self._name:
            raise ProtocolError(f"an unexpected file {piece.header.name}")
        if len(self.content) + len(piece.content) > self._at_most:
            raise ProtocolError(f"{self._name} with more than {self._at_most >> 20} MB")
        self.content += piece.content
        return piece.header.last
