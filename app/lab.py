"""The lab: every service that pages and the API need, built once in main.py."""

import asyncio
import ctypes
import logging
import sys
import time
from collections import deque
from importlib.metadata import version
from typing import IO

from app.access.run_access import Beside, RunAccess
from app.accounts.access.code_policy import CodePolicy, CodeRules
from app.accounts.limits.disk_use import DiskUse
from app.accounts.users.accounts import Accounts
from app.accounts.users.avatars import Avatars
from app.accounts.visitors import Visitor
from app.analysis.doctor.doctor import Doctor
from app.analysis.report.reports import Reports
from app.authoring.environments.custom_environments import CustomEnvironments
from app.authoring.rewards.personal_rewards import PersonalRewards
from app.authoring.rewards.reward_lab import RewardLab
from app.authoring.tryouts.demonstrations import Demonstrations
from app.authoring.tryouts.personal_tryouts import PersonalTryouts
from app.authoring.tryouts.random_scores import RandomScores
from app.authoring.tryouts.tryouts import Tryouts
from app.catalog.environments import catalogue
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from app.core.tasks import Tasks
from app.discovery.environment_finder import EnvironmentFinder
from app.discovery.previews import Previews
from app.evaluation.register import EvaluationRegister
from app.evaluation.service import Evaluations
from app.evaluation.shelf import EvaluationShelf
from app.runs.service import RunService
from app.runs.state.capacity import Admission
from app.runs.state.journal import Journal
from app.sharing.sharing import Sharing
from app.workers.pool import WorkerPool
from app.workers.sandbox_check import Sandbox, check_sandbox
from storage.database.database import open_database
from storage.records.runs import RunRecord

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
        self._pool = WorkerPool(
            memory_mb=settings.worker_memory,
            side_slots=settings.viewers,
        )
        self.environments = EnvironmentFinder(folder, self._pool)
        self.code = CodePolicy(
            CodeRules.of(unlocked=settings.unlocked_code, trusted=settings.trusted),
            self._checked,
            self.accounts.audit,
        )
        self._journal = Journal(folder, self._storage)
        self._doctor = Doctor(self._journal, folder, self._storage)
        self._reports = Reports(folder)
        self.trainer = RunService(
            settings,
            folder,
            self._storage,
            self._pool,
            self._journal,
            self.environments,
            Admission(
                lambda owner: self.accounts.directory.limits_of(owner).runs_at_once,
                self._code_refusal,
            ),
        )
        self.accounts.administration.limits_changed.subscribe(self.trainer.fill)
        self.disk = DiskUse(folder, self._storage)
        self.evaluations = Evaluations(
            self.trainer,
            self._pool,
            EvaluationRegister(EvaluationShelf(folder, videos_kept=settings.videos_kept)),
        )
        self.sharing = Sharing(
            folder,
            self._storage,
            self.environments,
            self.trainer,
            self.evaluations,
            self._pool,
        )
        self._open_beside_training(settings)
        self.lag = LagProbe()
        self._sandbox: asyncio.Task[Sandbox] | None = None
        self._is_open = asyncio.Event()
        self._tasks = Tasks()
        self._opened_at = time.monotonic()

    def _open_beside_training(self, settings: Settings) -> None:
        """Build what people use before and beside runs."""
        folder = settings.runs_folder
        self.previews = Previews(folder, self._pool)
        self.tryouts = Tryouts(
            self._pool,
            self.environments,
            self.trainer.side_slots,
            RandomScores(folder),
            most=settings.viewers,
            silence_s=settings.worker_silence,
        )
        self.demonstrations = Demonstrations(folder)
        self.custom = CustomEnvironments(folder, self._pool, self.code, self.environments)
        self.environments.code_refusal = self._environment_refusal
        self.rewards = RewardLab(folder, self._pool, self.environments, self.code)
        self.avatars = Avatars(folder, self.accounts.profiles, self._pool)

    def trainer_for(self, visitor: Visitor) -> RunAccess:
        """Return the trainer as this visitor may use it."""
        return RunAccess(
            self.trainer,
            visitor,
            accounts=self.accounts,
            disk=self.disk,
            beside=Beside(self.evaluations, self.sharing, self._doctor, self._reports),
            code=self.code,
        )

    def tryouts_for(self, visitor: Visitor) -> PersonalTryouts:
        """Return tryouts as this visitor may use them."""
        return PersonalTryouts(visitor, self.tryouts, self.demonstrations)

    def rewards_for(self, visitor: Visitor) -> PersonalRewards:
        """Return the reward lab as this visitor may use it."""
        return PersonalRewards(visitor, self.rewards, self.code)

    @property
    def uptime_s(self) -> float:
        """Seconds since the lab was opened."""
        return round(time.monotonic() - self._opened_at, 1)

    async def sandbox(self) -> Sandbox:
        """Return how well workers are locked in, waiting until the lab is open if need be."""
        await self.opened()
        return await self._checked()

    async def opened(self) -> None:
        """Wait until runs of before are marked for what happened to them."""
        await self._is_open.wait()

    async def _checked(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = self._tasks.start(check_sandbox(), name="check the sandbox")
        return await asyncio.shield(self._sandbox)

    async def open(self) -> None:
        """Check the sandbox, go on with the queue, draw the missing pictures."""
        self._tasks.start(self.lag.run(), name="lag probe")
        try:
            await self._lock_in()
            self.accounts.open()
            await self._remember()
            await self.sharing.open()
            await self.trainer.open()
        finally:
            self._is_open.set()
        offered = catalogue.CATALOGUE.values()
        self.previews.prepare(spec.id for spec in offered if spec.is_installed)

    async def open_for_one_command(self) -> None:
        """Check the sandbox; whatever waited in the queue before keeps waiting."""
        await self._lock_in()
        await self._remember()
        await self.trainer.open(goes_on=False)
        self._is_open.set()

    async def _remember(self) -> None:
        """Read what earlier sittings left."""
        await self.environments.open()
        await self.custom.open()
        await self.evaluations.register.open()

    async def _code_refusal(self, run: RunRecord) -> str | None:
        """Say why the code in a run may not run here: it may have come when the lock was better."""
        givers = {run.owner} if run.config.get("reward_code") is not None else set()
        if run.config.get("env_code") is not None:
            givers.add(self.custom.owner_of(run.env_id) or run.owner)
        for giver in givers:
            reason = await self.code.refusal_of(self.accounts.directory.get(giver))
            if reason is not None:
                return reason
        return None

    async def _environment_refusal(self, env_id: str) -> str | None:
        """Say why an environment that somebody wrote may not run here."""
        giver = self.custom.owner_of(env_id)
        return await self.code.refusal_of(self.accounts.directory.get(giver))

    async def _lock_in(self) -> None:
        _keep_memory_private()
        sandbox = await self._checked()
        _log.info("Sandbox: %s %s", sandbox.level, sandbox.open_doors or "")
        self._pool.promised_layers = sandbox.layers
        await self.code.announce(sandbox)

    async def close(self) -> None:
        """End every run and worker, and let go of the runs folder."""
        await self._tasks.cancel()
        await self.previews.close()
        await self.tryouts.close()
        await self.sharing.close()
        await self.evaluations.register.close()
        await self.trainer.close()
        # Findings about runs that just ended still go into their logs.
        await self._doctor.close()
        await self._journal.close()
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
