"""Evaluation beside training: a patient worker judges the policies that the trainer hands out."""

import asyncio
import logging
from typing import Protocol

from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.run_config.config import RunConfig
from app.workers.local_worker import HandedOut, LocalWorker, ProtocolError, WorkerGoneError
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
        self._waiting: HandedOut | None = None
        self._judging: asyncio.Task[None] | None = None
        self._worker: LocalWorker | None = None

    def judge(self, policy: HandedOut) -> None:
        """Evaluate a policy as soon as the one before it is done; only the newest waits."""
        if self._failures >= _MOST_FAILURES:
            return
        self._waiting = policy
        if self._judging is None or self._judging.done():
            self._judging = self._tasks.start(self._judge_all(), name="evaluate beside training")

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.cancel()
        await self._end_worker()

    async def _judge_all(self) -> None:
        while (policy := self._waiting) is not None:
            self._waiting = None
            try:
                async with asyncio.timeout(_PER_EVALUATION_S):
                    judged = await self._judge_one(policy)
            except (WorkerGoneError, ProtocolError, TimeoutError, OSError) as error:
                # The training goes on; the next policy gets a fresh worker.
                await self._end_worker()
                await self._complain(str(error) or f"it took more than {_PER_EVALUATION_S:g} s")
            else:
                self._trainer.send(messages.encode(judged))

    async def _complain(self, reason: str) -> None:
        self._failures += 1
        ends = "" if self._failures < _MOST_FAILURES else " There won't be another one."
        message = f"An evaluation beside the training failed: {reason}.{ends}"
        _log.warning(message)
        await self._listener.noted(
            messages.Noted(event_type="evaluation_failed", message=message, is_warning=True)
        )

    async def _judge_one(self, policy: HandedOut) -> commands.Judged:
        worker = self._worker = self._worker or await self._begin()
        worker.send(policy.frame)
        said = await worker.receive()
        match said:
            case messages.Evaluated() if said.is_whole(EPISODES):
                return commands.Judged(
                    timesteps=said.timesteps, returns=said.returns, lengths=said.lengths
                )
            case messages.Failed(reason=reason):
                raise ProtocolError(reason)
        raise ProtocolError(f"{type(said).__name__} instead of an evaluation")

    async def _begin(self) -> LocalWorker:
        worker = await self._pool.start()
        worker.be_patient()
        order = commands.Evaluate(setup=self._config.setup(), episodes=EPISODES, seed=SEED)
        worker.send(messages.encode(order))
        return worker

    async def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            await worker.wait()
