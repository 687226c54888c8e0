"""Deleted runs, which can be brought back for ten seconds."""

import asyncio

from app.core.storage_thread import StorageThread
from app.core.tasks import Tasks
from storage.database import runs
from storage.files.lab_folder import LabFolder
from storage.records.runs import RunRecord

UNDO_WITHIN_S = 10.0


class Trash:
    """Takes runs away at once and for good a little later."""

    def __init__(self, folder: LabFolder, storage: StorageThread) -> None:
        self._folder = folder
        self._storage = storage
        self._tasks = Tasks()
        self._erasing: dict[str, asyncio.Task[None]] = {}

    async def empty(self) -> None:
        """Erase what an earlier server left."""
        for run_id in await self._storage(runs.hidden_runs):
            await self._erase(run_id)

    async def put(self, run_id: str) -> None:
        """Take a run and its files away.

        Raises:
            WrongStateError: while it is active.
        """
        await self._storage(runs.hide_run, run_id)
        await asyncio.to_thread(self._folder.set_aside, run_id)
        self._erasing[run_id] = self._tasks.start(self._erase_later(run_id), name="erase a run")

    async def take_back(self, run_id: str) -> RunRecord:
        """Bring a run and its files back.

        Raises:
            RunNotFoundError: if the ten seconds are over.
        """
        if (erasing := self._erasing.pop(run_id, None)) is not None:
            erasing.cancel()
        run = await self._storage(runs.restore_run, run_id)
        await asyncio.to_thread(self._folder.take_back, run_id)
        return run

    async def close(self) -> None:
        """Leave what is in it for the next start."""
        await self._tasks.cancel()

    async def _erase_later(self, run_id: str) -> None:
        await asyncio.sleep(UNDO_WITHIN_S)
        self._erasing.pop(run_id, None)
        await self._erase(run_id)

    async def _erase(self, run_id: str) -> None:
        # Only what is gone from the database goes from the disk: it may have been brought back.
        if await self._storage(runs.erase_run, run_id):
            await asyncio.to_thread(self._folder.empty_trash, run_id)
