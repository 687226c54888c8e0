"""Preview images of environments, rendered once in a worker and stored."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from pathlib import Path

from app.core import Tasks
from app.protocol import commands
from app.workers import MAX_IMAGE_BYTES, JobError, WorkerPool
from storage import LabError
from storage.files import LabFolder

_WITHIN_S = 60.0

_log = logging.getLogger(__name__)


class PreviewError(LabError):
    """An environment could not be rendered."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "no_worker"

    def __init__(self, reason: str) -> None:
        super().__init__(f"The preview could not be rendered: {reason}.")


class Previews:
    """Provides one preview image per environment."""

    def __init__(self, folder: LabFolder, pool: WorkerPool) -> None:
        self._folder = folder
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()
        self._expected: dict[str, asyncio.Event] = {}
        self._tasks = Tasks()

    def prepare(self, env_ids: Iterable[str]) -> None:
        """Render the missing images in the background."""
        self._expected = {env_id: asyncio.Event() for env_id in env_ids}
        self._tasks.start(self._prepare(), name="prepare previews")

    async def image(self, env_id: str) -> Path:
        """Return the PNG of an existing environment, rendered now if it is missing.

        Raises:
            PreviewError: if it can't be rendered.
        """
        path = self._folder.preview(env_id)
        if await asyncio.to_thread(path.is_file):
            return path
        if (expected := self._expected.get(env_id)) is not None:
            await expected.wait()
        async with self._one_at_a_time:
            if not await asyncio.to_thread(path.is_file):
                await self._draw([env_id])
        return path

    async def close(self) -> None:
        """Cancel the rendering in progress."""
        await self._tasks.cancel()

    async def _prepare(self) -> None:
        missing = [env_id for env_id in self._expected if not await self._is_there(env_id)]
        try:
            # In one worker: starting one takes longer than rendering ten images.
            if missing:
                await self._draw(missing)
        except PreviewError as error:
            _log.warning("Not all previews were rendered. %s", error)
        finally:
            for expected in self._expected.values():
                expected.set()

    async def _is_there(self, env_id: str) -> bool:
        return await asyncio.to_thread(self._folder.preview(env_id).is_file)

    async def _draw(self, env_ids: Sequence[str]) -> None:
        try:
            command = commands.RenderPreviews(env_ids=tuple(env_ids))
            async with self._pool.job(command, within_s=_WITHIN_S) as job:
                for env_id in env_ids:
                    image = await job.file("preview.png", at_most=MAX_IMAGE_BYTES)
                    await self._keep(env_id, image)
        except JobError as error:
            raise PreviewError(str(error)) from error

    async def _keep(self, env_id: str, content: bytes) -> None:
        await asyncio.to_thread(self._folder.save_preview, env_id, content)
        if (expected := self._expected.get(env_id)) is not None:
            expected.set()
