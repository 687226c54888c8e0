"""The lab: every service that pages and the API need, built once in main.py."""

import asyncio
import ctypes
import logging
import sys
import time
from collections import deque
from importlib.metadata import version
from pathlib import Path
from typing import IO

from app.environments import catalogue
from app.previews import Previews
from app.settings import Settings
from app.storage_thread import StorageThread
from app.tasks import Tasks
from app.training.sandbox_check import Sandbox, check_sandbox
from app.training.trainer import Trainer
from app.training.workers import WorkerPool
from storage.database import open_database
from storage.run_folder import RunsFolder

VERSION = version("rl-lab")

_PR_SET_DUMPABLE = 4

_log = logging.getLogger(__name__)


class Lab:
    """Hands each page the service it asks for."""

    def __init__(self, settings: Settings) -> None:
        """Claim the runs folder and open the database.

        Raises:
            StorageError: if the folder or the database can't be used.
        """
        self.settings = settings
        folder = RunsFolder(settings.runs_dir.resolve())
        self._claim: IO[str] = folder.claim()
        self._storage = StorageThread()
        self._database = self._storage.call(open_database, _database_path(settings, folder))
        self._pool = WorkerPool(warm=settings.warm_workers, memory_mb=settings.worker_memory)
        self.trainer = Trainer(settings, folder, self._storage, self._pool)
        self.previews = Previews(folder, memory_mb=settings.worker_memory)
        self.lag = LagProbe()
        self._sandbox: asyncio.Task[Sandbox] | None = None
        self._tasks = Tasks()
        self._opened_at = time.monotonic()

    @property
    def uptime_s(self) -> float:
        """Seconds since the lab was opened."""
        return round(time.monotonic() - self._opened_at, 1)

    async def sandbox(self) -> Sandbox:
        """Return how well workers are locked in, waiting for the check if need be."""
        if self._sandbox is None:
            self._sandbox = self._tasks.start(check_sandbox(), name="check the sandbox")
        return await asyncio.shield(self._sandbox)

    async def open(self) -> None:
        """Check the sandbox, go on with the queue, keep workers warm, draw the missing pictures."""
        _keep_memory_private()
        self._tasks.start(self.lag.run(), name="lag probe")
        sandbox = await self.sandbox()
        _log.info("Sandbox: %s %s", sandbox.level, sandbox.open_doors or "")
        self._pool.promised_layers = sandbox.layers
        self._pool.open()
        await self.trainer.open()
        self.previews.prepare(catalogue.CATALOGUE)

    async def close(self) -> None:
        """End every run and worker, and let go of the runs folder."""
        await self._tasks.cancel()
        await self.previews.close()
        await self.trainer.close()
        await self._pool.close()
        await self._storage(self._database.close)
        self._storage.close()
        self._claim.close()


class LagProbe:
    """Measures how long the event loop keeps others waiting."""

    _EVERY_S = 0.05
    _KEPT = 1_200

    def __init__(self) -> None:
        self._lags_ms: deque[float] = deque(maxlen=self._KEPT)

    async def run(self) -> None:
        """Sleep a little, again and again, and note by how much each sleep was too long."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(self._EVERY_S)
            self._lags_ms.append((time.perf_counter() - before - self._EVERY_S) * 1_000)

    def percentile(self, share: float) -> float | None:
        """Return the lag in milliseconds that this share of the last minute stayed below."""
        lags = sorted(self._lags_ms)
        return round(lags[min(len(lags) - 1, int(len(lags) * share))], 2) if lags else None


def _database_path(settings: Settings, folder: RunsFolder) -> Path:
    return (
        Path(settings.database.removeprefix("sqlite:///")) if settings.database else folder.database
    )


def _keep_memory_private() -> None:
    """Keep other processes of the same user out of this one's memory and environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
