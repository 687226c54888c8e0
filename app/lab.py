"""The lab: every service that pages and the API need, built once in main.py."""

import asyncio
import ctypes
import logging
import sys
import time
from collections import deque
from importlib.metadata import version
from typing import IO

from app.accounts.accounts import Accounts
from app.accounts.avatars import Avatars
from app.accounts.disk_use import DiskUse
from app.accounts.personal_trainer import PersonalTrainer
from app.accounts.visitors import Visitor
from app.environment_finder import EnvironmentFinder
from app.environments import catalogue
from app.previews import Previews
from app.settings import Settings
from app.storage_thread import StorageThread
from app.tasks import Tasks
from app.training.evaluations import Evaluations
from app.training.sandbox_check import Sandbox, check_sandbox
from app.training.trainer import Trainer
from app.training.workers import WorkerPool
from storage.database import open_database

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
        folder = settings.runs_folder
        self._claim: IO[str] = folder.claim()
        self._storage = StorageThread()
        self._database = self._storage.call(open_database, settings.database_address)
        secret = settings.secret.encode() if settings.secret else _own_secret(settings)
        self.accounts = Accounts(settings, self._storage, secret=secret)
        self._pool = WorkerPool(warm=settings.warm_workers, memory_mb=settings.worker_memory)
        self.environments = EnvironmentFinder(folder, memory_mb=settings.worker_memory)
        limits = self.accounts.directory.limits_of
        self.trainer = Trainer(
            settings,
            folder,
            self._storage,
            self._pool,
            self.environments,
            of_owner=lambda owner: limits(owner).runs_at_once,
        )
        self.accounts.administration.limits_changed.subscribe(self.trainer.fill)
        self.disk = DiskUse(folder, self._storage)
        self.evaluations = Evaluations(self.trainer, self._pool)
        self.previews = Previews(folder, memory_mb=settings.worker_memory)
        memory = settings.worker_memory
        self.avatars = Avatars(folder, self.accounts.profiles, memory_mb=memory)
        self.lag = LagProbe()
        self._sandbox: asyncio.Task[Sandbox] | None = None
        self._tasks = Tasks()
        self._opened_at = time.monotonic()

    def trainer_for(self, visitor: Visitor) -> PersonalTrainer:
        """Return the trainer as this visitor may use it."""
        accounts = self.accounts
        return PersonalTrainer(
            self.trainer,
            visitor,
            directory=accounts.directory,
            disk=self.disk,
            audit=accounts.audit,
        )

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
        self._tasks.start(self.lag.run(), name="lag probe")
        await self._lock_in()
        self.accounts.open()
        self._pool.open()
        await self.environments.open()
        await self.trainer.open()
        offered = catalogue.CATALOGUE.values()
        self.previews.prepare(spec.id for spec in offered if spec.is_installed)

    async def open_for_one_command(self) -> None:
        """Check the sandbox; whatever waited in the queue before keeps waiting."""
        await self._lock_in()
        await self.environments.open()
        await self.trainer.open(goes_on=False)

    async def _lock_in(self) -> None:
        _keep_memory_private()
        sandbox = await self.sandbox()
        _log.info("Sandbox: %s %s", sandbox.level, sandbox.open_doors or "")
        self._pool.promised_layers = sandbox.layers

    async def close(self) -> None:
        """End every run and worker, and let go of the runs folder."""
        await self._tasks.cancel()
        await self.previews.close()
        await self.trainer.close()
        await self._pool.close()
        await self.accounts.close()
        await self._storage(self._database.close)
        self._storage.close()
        self._claim.close()


def _own_secret(settings: Settings) -> bytes:
    return settings.runs_folder.server_secret() if settings.has_accounts else b""


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


def _keep_memory_private() -> None:
    """Keep other processes of the same user out of this one's memory and environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
