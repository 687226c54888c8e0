"""Evaluation beside training: a patient worker judges the policies that the trainer hands out."""

import asyncio
import logging
from typing import Protocol

from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.protocol.user_code import UserCodeError
from app.run_config.config import RunConfig
from app.workers.errors import JobError, ProtocolError
from app.workers.job import Job
from app.workers.local_worker import HandedOut, LocalWorker
from app.workers.pool import WorkerPool

EPISODES = 10
SEED = 1_000_000
"""Far from the seeds of training, and the same for every evaluation of every run."""

_PER_EVALUATION_S = 600.0
_MOST_FAILURES = 3

_log = logging.getLogger(__name__)


class Listener(Protocol):
    """Who hears of what a person should know."""

    async def noted(self, said: messages.Noted) -> None:
        """Something about the run that a person should know."""


class PeriodicEvaluation:
    """Tells the worker that trains what its policies are worth."""

    def __init__(
        self, config: RunConfig, pool: WorkerPool, listener: Listener, *, trainer: LocalWorker
    ) -> None:
        self._config = config
        self._pool = pool
        self._listener = listener
        self._failures = 0
        self._trainer = trainer
        self._tasks = Tasks()
        self._newest: HandedOut | None = None
        self._has_policy = asyncio.Event()
        self._is_started = False

    def judge(self, policy: HandedOut) -> None:
        """Evaluate a policy as soon as the one before it is done; only the newest waits."""
        self._newest = policy
        self._has_policy.set()
        if not self._is_started:
            self._is_started = True
            self._tasks.start(self._judge_all(), name="periodic evaluation")

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.cancel()

    async def _judge_all(self) -> None:
        """Judge policy after policy; one that fails costs its worker, not the training."""
        while self._failures < _MOST_FAILURES:
            await self._has_policy.wait()
            try:
                await self._judge_in_one_worker()
            except (JobError, UserCodeError) as error:
                await self._complain(str(error))

    async def _judge_in_one_worker(self) -> None:
        command = commands.Evaluate(setup=self._config.setup(), episodes=EPISODES, seed=SEED)
        async with self._pool.job(command, patient=True) as job:
            while True:
                await self._has_policy.wait()
                self._has_policy.clear()
                assert self._newest is not None
                job.worker.send(self._newest.frame)
                self._trainer.send(messages.encode(await _judged(job)))

    async def _complain(self, reason: str) -> None:
        self._failures += 1
        ends = "" if self._failures < _MOST_FAILURES else " There won't be another one."
        message = f"An evaluation beside the training failed: {reason}.{ends}"
        _log.warning(message)
        await self._listener.noted(
            messages.Noted(event_type="evaluation_failed", message=message, is_warning=True)
        )


async def _judged(job: Job) -> commands.Judged:
    match found := await job.next(within_s=_PER_EVALUATION_S):
        case messages.Evaluated() if found.is_whole(EPISODES):
            return commands.Judged(
                timesteps=found.timesteps, returns=found.returns, lengths=found.lengths
            )
    raise ProtocolError(f"{type(found).__name__} instead of an evaluation")
