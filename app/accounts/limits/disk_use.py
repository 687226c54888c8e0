"""Disk space used by each user's runs, and how much is left of their limit."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping

from app.accounts import Directory, OverLimitError
from app.core import StorageThread
from storage.database import runs
from storage.files import LabFolder

_CACHED_FOR_S = 10.0
_MB = 1 << 20


class DiskUse:
    """Measures the files of all runs on a thread, and caches the result for 10 s."""

    def __init__(self, folder: LabFolder, storage: StorageThread, directory: Directory) -> None:
        self._folder = folder
        self._directory = directory
        self._storage = storage
        self._counting = asyncio.Lock()
        self._counted_at: float | None = None
        self._found: Mapping[str | None, int] = {}

    async def by_owner(self) -> Mapping[str | None, int]:
        """Return the bytes of each user's runs; key None: runs without an owner."""
        async with self._counting:
            now = time.monotonic()
            if self._counted_at is None or now - self._counted_at > _CACHED_FOR_S:
                owners = await self._storage(runs.owners)
                sizes = await asyncio.to_thread(self._folder.sizes)
                counted: Counter[str | None] = Counter()
                for run_id, size in sizes.items():
                    counted[owners.get(run_id)] += size
                self._found, self._counted_at = counted, now
        return self._found

    async def remaining(self, owner: str | None) -> int | None:
        """Return how many more bytes a user's runs may take; None: no limit.

        Raises:
            OverLimitError: if the limit is reached.
        """
        allowed = self._directory.limits_of(owner).disk_mb
        if owner is None or allowed is None:
            return None
        used = (await self.by_owner()).get(owner, 0)
        if used >= allowed * _MB:
            raise OverLimitError(
                f"These runs use {used / _MB:,.0f} MB of {allowed:,} MB. Delete some first."
            )
        return allowed * _MB - used

    async def free(self) -> int:
        """Return the free bytes of the disk."""
        return await asyncio.to_thread(self._folder.free)
