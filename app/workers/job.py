"""Run one job in a worker and get its answer."""

import asyncio
from typing import TypeVar

from app.protocol import messages
from app.protocol.commands import Job as JobCommand
from app.protocol.commands import brings_code
from app.protocol.user_code import HangingError, UserCodeError, crashed_place, hanging_place
from app.workers.errors import (
    JobFailedError,
    JobRefusedError,
    ProtocolError,
    TooLongError,
    WorkerGoneError,
)
from app.workers.local_worker import LocalWorker, Piece, Received

_LOOK_EVERY_S = 0.5

Answer = TypeVar("Answer")


class Job:
    """A worker with its job: what it answers, file pieces joined, failures as exceptions."""

    def __init__(self, worker: LocalWorker, command: JobCommand) -> None:
        self.worker = worker
        self._brings_code = brings_code(command)

    async def next(self, *, within_s: float | None = None) -> Received:
        """Return the next thing that the worker sends, signs of life left out.

        Raises:
            UserCodeError: if code of a user hangs, or has crashed the worker, with its line.
            JobError: if the worker fails, refuses, ends, or takes longer than it may.
        """
        try:
            async with asyncio.timeout(within_s):
                while isinstance(received := await self._receive(), messages.Alive):
                    pass
        except TimeoutError:
            raise TooLongError(within_s or 0.0) from None
        except WorkerGoneError as error:
            raise self._crash(error) from None
        match received:
            case messages.Failed(reason=reason, line=line):
                raise JobFailedError(reason, line)
            case messages.Refused(why=why):
                raise JobRefusedError(why)
        return received

    async def answer(self, *kinds: type[Answer]) -> Answer:
        """Return the next thing, which must be of one of these kinds.

        Raises:
            UserCodeError, JobError: as `next`; if it is something else, too.
        """
        received = await self.next()
        if not isinstance(received, kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            raise ProtocolError(f"{type(received).__name__} instead of {names}")
        return received

    async def file(self, name: messages.FileName, *, at_most: int) -> bytes:
        """Return a file that the worker delivers in pieces.

        Raises:
            UserCodeError, JobError: as `next`; if it is another file or too large, too.
        """
        pieces = Pieces(name, at_most=at_most)
        while not pieces.take(await self.answer(Piece)):
            pass
        return bytes(pieces.content)

    async def _receive(self) -> Received:
        if not self._brings_code:
            return await self.worker.receive()
        waiting = asyncio.ensure_future(self.worker.receive())
        try:
            while not waiting.done():
                await asyncio.wait([waiting], timeout=_LOOK_EVERY_S)
                self._check_hanging()
            return waiting.result()
        finally:
            waiting.cancel()
            # Nobody else may read from the worker before this one has let go.
            await asyncio.wait([waiting])

    def _check_hanging(self) -> None:
        """Code that keeps Python itself busy can't be interrupted: the worker prints its line."""
        if (place := hanging_place(self.worker.printed)) is not None:
            raise UserCodeError(str(HangingError(place.filename, place.line)), place.line)

    def _crash(self, error: WorkerGoneError) -> UserCodeError | WorkerGoneError:
        place = crashed_place(self.worker.printed) if self._brings_code else None
        if place is None:
            return error
        text = f"{place.filename}, line {place.line}: it crashed the worker ({error})"
        return UserCodeError(text, place.line)


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
