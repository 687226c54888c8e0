"""The lab: all services that pages and the API use, built once in main.py."""

import asyncio
import ctypes
import logging
import sys
import time
from collections import deque
from collections.abc import Collection
from importlib.metadata import version
from typing import IO

from app.access import Access
from app.accounts import Principal
from app.accounts.access import CodePolicy, CodeRules
from app.accounts.limits import DiskUse
from app.accounts.users import Accounts, Avatars
from app.analysis.comparison import Comparing
from app.analysis.doctor import Doctor
from app.analysis.report import Reports
from app.authoring.environments import CodeRights, CustomEnvironments
from app.authoring.rewards import RewardLab
from app.authoring.tryouts import Demonstrations, Tryouts
from app.catalog.environments import catalogue
from app.core import Settings, StorageThread, Tasks
from app.discovery import EnvironmentFinder, Previews
from app.evaluation import Evaluations, EvaluationStore
from app.runs import RunServices
from app.runs.state import Journal
from app.sharing.sharing import Sharing
from app.workers import Sandbox, WorkerPool, check_sandbox
from storage.database import open_database

VERSION = version("rl-lab")

_PR_SET_DUMPABLE = 4

_log = logging.getLogger(__name__)


class Lab:
    """Builds, opens and closes all services."""

    def __init__(self, settings: Settings) -> None:
        """Lock the runs folder and open the database.

        Raises:
            StorageError: if the folder or the database can't be used.
        """
        self.settings = settings
        folder = settings.runs_folder
        self._folder_lock: IO[str] = folder.claim()
        self._storage = StorageThread()
        self._database = self._storage.call(open_database, settings.database_address)
        secret = settings.secret.encode() if settings.secret else _own_secret(settings)
        self.accounts = Accounts(settings, self._storage, secret=secret)
        self._pool = WorkerPool(
            memory_mb=settings.worker_memory,
            side_slots=settings.viewers,
            expected_layers=self._expected_layers,
        )
        self._build_environments(settings)
        self._journal = Journal(folder, self._storage)
        self.doctor = Doctor(self._journal, folder, self._storage)
        self.reports = Reports(folder, self.doctor.insights)
        self._build_runs(settings)
        self.disk = DiskUse(folder, self._storage, self.accounts.directory)
        self.evaluations = Evaluations(
            self.runs,
            self._training.time_machine,
            self._pool,
            EvaluationStore(folder, self._journal.add_event, videos_kept=settings.videos_kept),
        )
        self.sharing = Sharing(
            folder,
            self._storage,
            self.environments,
            self.runs,
            self.evaluations,
            self._pool,
        )
        self._build_authoring(settings)
        self.lag = LagProbe()
        self._sandbox: asyncio.Task[Sandbox] | None = None
        self._is_open = asyncio.Event()
        self._tasks = Tasks()
        self._opened_at = time.monotonic()

    def _build_environments(self, settings: Settings) -> None:
        """Build the services for environments and for rights to run code."""
        folder = settings.runs_folder
        self.code = CodePolicy(
            CodeRules.of(unlocked=settings.unlocked_code, trusted=settings.trusted),
            self._checked_sandbox,
            self.accounts.audit,
        )
        self.custom = CustomEnvironments(folder, self._pool, self.code)
        self._code_rights = CodeRights(self.code, self.custom, self.accounts.directory)
        self.environments = EnvironmentFinder(
            folder,
            self._pool,
            check_sees=self.custom.check_sees,
            code_refusal=self._code_rights.refusal_of_environment,
        )

    def _build_runs(self, settings: Settings) -> None:
        """Build the services that train and store runs."""
        self._training = RunServices(
            settings,
            self._journal,
            self._storage,
            self._pool,
            self.environments,
            owner_limit=lambda owner: self.accounts.directory.limits_of(owner).runs_at_once,
            code_refusal=self._code_rights.refusal_of_run,
        )
        self.runs, self.queue = self._training.service, self._training.queue
        self.history = self._training.history
        self.accounts.administration.limits_changed.subscribe(self.queue.fill)

    def _build_authoring(self, settings: Settings) -> None:
        """Build the services that don't need a run: previews, tryouts, rewards."""
        folder = settings.runs_folder
        self.previews = Previews(folder, self._pool)
        self.tryouts = Tryouts(
            folder,
            self._pool,
            self.environments,
            limit=settings.viewers,
            silence_s=settings.worker_silence,
        )
        self.demonstrations = Demonstrations(folder)
        self.rewards = RewardLab(folder, self._pool, self.environments, self.code)
        self.avatars = Avatars(folder, self.accounts.profiles, self._pool)

    def access_for(self, principal: Principal) -> Access:
        """Return the access of a principal to runs."""
        return Access(
            self.runs,
            principal,
            accounts=self.accounts,
            disk=self.disk,
            code=self.code,
            environments=self.environments,
        )

    def comparing_for(self, access: Access) -> Comparing:
        """Return the service that compares runs visible to a principal."""
        return Comparing(access, self.runs, self.evaluations)

    @property
    def uptime_s(self) -> float:
        """Seconds since the lab was created."""
        return round(time.monotonic() - self._opened_at, 1)

    async def sandbox(self) -> Sandbox:
        """Return how well workers are sandboxed; wait until the lab is open."""
        await self.opened()
        return await self._checked_sandbox()

    async def opened(self) -> None:
        """Wait until the lab is open, with runs of an earlier server marked as interrupted."""
        await self._is_open.wait()

    async def _checked_sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = self._tasks.start(check_sandbox(), name="check the sandbox")
        return await asyncio.shield(self._sandbox)

    async def _expected_layers(self) -> Collection[str]:
        return (await self._checked_sandbox()).layers

    async def open(self) -> None:
        """Check the sandbox, resume the queue, render missing previews."""
        self._tasks.start(self.lag.run(), name="lag probe")
        try:
            await self._prepare_sandbox()
            self.accounts.open()
            await self._load()
            await self.sharing.open()
            await self._training.open()
        finally:
            self._is_open.set()
        offered = catalogue.ENVIRONMENTS.values()
        self.previews.prepare(spec.id for spec in offered if spec.is_installed)

    async def open_for_one_command(self) -> None:
        """Check the sandbox; runs that were queued before stay queued."""
        await self._prepare_sandbox()
        await self._load()
        await self._training.open(resume=False)
        self._is_open.set()

    async def _load(self) -> None:
        """Load what earlier servers stored."""
        await self.environments.open()
        await self.custom.open()
        await self.evaluations.store.open()

    async def _prepare_sandbox(self) -> None:
        _protect_memory()
        sandbox = await self._checked_sandbox()
        _log.info("Sandbox: %s %s", sandbox.level, sandbox.escapes or "")
        await self.code.announce(sandbox)

    async def close(self) -> None:
        """End every run and worker, and release the runs folder."""
        await self._tasks.cancel()
        await self.previews.close()
        await self.tryouts.close()
        await self.sharing.close()
        await self.evaluations.store.close()
        await self._training.close()
        # Insights about runs that have just ended are still added to their logs.
        await self.doctor.close()
        await self._journal.close()
        await self.accounts.close()
        await self._storage(self._database.close)
        self._storage.close()
        self._folder_lock.close()


def _own_secret(settings: Settings) -> bytes:
    return settings.runs_folder.server_secret() if settings.has_accounts else b""


class LagProbe:
    """Measures the lag of the event loop."""

    _EVERY_S = 0.05
    _KEPT = 1_200

    def __init__(self) -> None:
        self._lags_ms: deque[float] = deque(maxlen=self._KEPT)

    async def run(self) -> None:
        """Sleep repeatedly, and record by how much each sleep was too long."""
        while True:
            before = time.perf_counter()
            await asyncio.sleep(self._EVERY_S)
            self._lags_ms.append((time.perf_counter() - before - self._EVERY_S) * 1_000)

    def percentile(self, share: float) -> float | None:
        """Return this percentile (0 to 1) of the lag over the last minute, in milliseconds."""
        lags = sorted(self._lags_ms)
        return round(lags[min(len(lags) - 1, int(len(lags) * share))], 2) if lags else None


def _protect_memory() -> None:
    """Prevent other processes of the same user from reading this one's memory and environment."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
