"""Evaluate during training: a low-priority worker plays the policies that the trainer sends."""

import asyncio
import logging

from app.core import Tasks
from app.protocol import UserCodeError, commands, messages
from app.run_config import RunConfig
from app.runs.state import RunLog
from app.workers import EpisodePlayer, JobError, PackedPolicy, Worker, WorkerPool

EPISODES = 10
EVAL_SEED = 1_000_000
"""Far from the seeds of training, and the same for every evaluation of every run."""

_MAX_FAILURES = 3

_log = logging.getLogger(__name__)


class PeriodicEvaluation:
    """Evaluates policies and reports their returns to the worker that trains."""

    def __init__(
        self, config: RunConfig, pool: WorkerPool, run_log: RunLog, *, trainer: Worker
    ) -> None:
        self._config = config
        self._pool = pool
        self._run_log = run_log
        self._failures = 0
        self._trainer = trainer
        self._tasks = Tasks()
        self._newest: PackedPolicy | None = None
        self._has_policy = asyncio.Event()
        self._is_started = False

    def evaluate(self, policy: PackedPolicy) -> None:
        """Evaluate a policy after the current one; only the newest waits."""
        self._newest = policy
        self._has_policy.set()
        if not self._is_started:
            self._is_started = True
            self._tasks.start(self._evaluate_all(), name="periodic evaluation")

    async def close(self) -> None:
        """Cancel the running evaluation."""
        await self._tasks.cancel()

    async def _evaluate_all(self) -> None:
        """Evaluate policy after policy; a failure ends the evaluating worker, not the training."""
        while self._failures < _MAX_FAILURES:
            await self._has_policy.wait()
            try:
                await self._evaluate_in_one_worker()
            except (JobError, UserCodeError) as error:
                await self._log_failure(str(error))

    async def _evaluate_in_one_worker(self) -> None:
        command = commands.Evaluate(setup=self._config.setup(), episodes=EPISODES, seed=EVAL_SEED)
        async with self._pool.job(command, low_priority=True) as job:
            player = EpisodePlayer(job, command)
            while True:
                await self._has_policy.wait()
                self._has_policy.clear()
                assert self._newest is not None
                found, _ = await player.play(self._newest.frame)
                result = commands.EvaluationResult(
                    timesteps=found.timesteps, returns=found.returns, lengths=found.lengths
                )
                self._trainer.send(messages.encode(result))

    async def _log_failure(self, reason: str) -> None:
        self._failures += 1
        ends = "" if self._failures < _MAX_FAILURES else " There won't be another one."
        message = f"A periodic evaluation failed: {reason}.{ends}"
        _log.warning(message)
        await self._run_log.noted(
            messages.Noted(event_type="evaluation_failed", message=message, is_warning=True)
        )
