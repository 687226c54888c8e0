"""Pictures of environments, rendered once in a worker and kept."""

import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path

from app.tasks import Tasks
from app.training.backend import LocalWorker, Piece, ProtocolError, WorkerGoneError
from app.worker import messages
from storage.run_folder import RunsFolder

_WITHIN_S = 60.0
_LARGEST = 4 << 20

_log = logging.getLogger(__name__)


class PreviewError(Exception):
    """An environment could not be drawn."""


class Previews:
    """One picture per environment."""

    def __init__(self, folder: RunsFolder, *, memory_mb: int) -> None:
        self._folder = folder
        self._memory_mb = memory_mb
        self._one_at_a_time = asyncio.Lock()
        self._tasks = Tasks()

    def prepare(self, env_ids: Iterable[str]) -> None:
        """Make the missing pictures in the background."""

        async def make_all() -> None:
            for env_id in env_ids:
                try:
                    await self.picture(env_id)
                except PreviewError as error:
                    _log.warning("No picture of %s: %s", env_id, error)

        self._tasks.start(make_all(), name="prepare previews")

    async def picture(self, env_id: str) -> Path:
        """Return the PNG of an environment of the catalogue, made now if it wasn't before.

        Raises:
            PreviewError: if it can't be drawn.
        """
        path = self._folder.preview(env_id)
        if await asyncio.to_thread(path.is_file):
            return path
        async with self._one_at_a_time:
            if not await asyncio.to_thread(path.is_file):
                content = await self._draw(env_id)
                await asyncio.to_thread(self._folder.save_preview, env_id, content)
        return path

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.cancel()

    async def _draw(self, env_id: str) -> bytes:
        worker = LocalWorker(memory_mb=self._memory_mb)
        try:
            async with asyncio.timeout(_WITHIN_S):
                await worker.start("painter")
                await worker.receive()
                worker.send(messages.encode(messages.Picture(env_id=env_id)))
                return await _receive_file(worker)
        except (WorkerGoneError, ProtocolError, TimeoutError) as error:
            raise PreviewError(str(error) or "the worker was lost") from error
        finally:
            worker.kill()
            await worker.wait()


async def _receive_file(worker: LocalWorker) -> bytes:
    content = bytearray()
    while True:
        match await worker.receive():
            case Piece(header=header, content=piece):
                content += piece
                if len(content) > _LARGEST:
                    raise ProtocolError("a picture larger than any")
                if header.last:
                    return bytes(content)
            case messages.Failed(reason=reason):
                raise ProtocolError(reason)
            case other:
                raise ProtocolError(f"{type(other).__name__} instead of a picture")
