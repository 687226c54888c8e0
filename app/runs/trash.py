"""Deleted runs, which can be restored for ten seconds."""

import asyncio

from app.core import StorageThread, Tasks
from storage import RunNotFoundError
from storage.database import runs
from storage.files import LabFolder
from storage.records import RunRecord

UNDO_WITHIN_S = 10.0


class Trash:
    """Hides runs at once and erases them later."""

    def __init__(self, folder: LabFolder, storage: StorageThread) -> None:
        self._folder = folder
        self._storage = storage
        self._tasks = Tasks()
        self._erasing: dict[str, asyncio.Task[None]] = {}

    async def empty(self) -> None:
        """Erase the deleted runs that an earlier server left, and finish what it was restoring."""
        for run_id in await self._storage(runs.hidden_runs):
            await self._erase(run_id)
        for run_id in await asyncio.to_thread(self._folder.trashed_runs):
            try:
                await self._storage(runs.get_run, run_id)
            except RunNotFoundError:
                await asyncio.to_thread(self._folder.erase, run_id)
            else:
                await asyncio.to_thread(self._folder.restore_from_trash, run_id)

    async def put(self, run_id: str) -> None:
        """Hide a run and move its files to the trash.

        Raises:
            WrongStateError: while it is active.
        """
        await self._storage(runs.hide_run, run_id)
        try:
            await asyncio.to_thread(self._folder.move_to_trash, run_id)
        except OSError:
            await self._storage(runs.restore_run, run_id)
            raise
        self._erasing[run_id] = self._tasks.start(self._erase_later(run_id), name="erase a run")

    async def restore(self, run_id: str) -> RunRecord:
        """Restore a run and its files.

        Raises:
            RunNotFoundError: if the ten seconds are over.
        """
        if (erasing := self._erasing.pop(run_id, None)) is not None:
            erasing.cancel()
        run = await self._storage(runs.restore_run, run_id)
        await asyncio.to_thread(self._folder.restore_from_trash, run_id)
        return run

    async def close(self) -> None:
        """Leave the rest for the next start of the server."""
        await self._tasks.cancel()

    async def _erase_later(self, run_id: str) -> None:
        await asyncio.sleep(UNDO_WITHIN_S)
        self._erasing.pop(run_id, None)
        await self._erase(run_id)

    async def _erase(self, run_id: str) -> None:
        # Files are erased only if the database erased the run: it may have been restored.
        if await self._storage(runs.erase_run, run_id):
            await asyncio.to_thread(self._folder.erase, run_id)
