"""How much disk everybody's runs hold."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping

from app.core.storage_thread import StorageThread
from storage.database import runs
from storage.files.lab_folder import LabFolder

_GOOD_FOR_S = 10.0


class DiskUse:
    """Counts the files of all runs, in a thread, and again only after a while."""

    def __init__(self, folder: LabFolder, storage: StorageThread) -> None:
        self._folder = folder
        self._storage = storage
        self._counting = asyncio.Lock()
        self._counted_at: float | None = None
        self._found: Mapping[str | None, int] = {}

    async def by_owner(self) -> Mapping[str | None, int]:
        """Return the bytes of each person's runs; None has those that belong to nobody."""
        async with self._counting:
            now = time.monotonic()
            if self._counted_at is None or now - self._counted_at > _GOOD_FOR_S:
                owners = await self._storage(runs.owners)
                sizes = await asyncio.to_thread(self._folder.sizes)
                counted: Counter[str | None] = Counter()
                for run_id, size in sizes.items():
                    counted[owners.get(run_id)] += size
                self._found, self._counted_at = counted, now
        return self._found

    async def free(self) -> int:
        """Return how many bytes are left on the disk."""
        return await asyncio.to_thread(self._folder.free)
