"""Evaluate during training: a low-priority worker plays the policies that the trainer sends."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from app.core import Tasks
from app.protocol import UserCodeError, commands, confirmation_seed, messages, selection_seed
from app.run_config import RunConfig
from app.runs.execution.solved_detector import CONFIRMATION_EPISODES, SolvedDetector
from app.runs.state import RunLog
from app.workers import EpisodePlayer, JobError, PackedPolicy, Worker, WorkerPool

_MAX_FAILURES = 3
_MAX_WAITING = 100
"""How many results may wait for the trainer to mark them in its metrics."""

_log = logging.getLogger(__name__)


class PeriodicResults:
    """The results of periodic evaluations, until the trainer's metrics have a line for each.

    The trainer tells only where a result belongs: the numbers come from here, because the code of
    a user that runs in the trainer could write others.
    """

    def __init__(self) -> None:
        self._metrics: dict[int, Mapping[str, float]] = {}

    def add(self, found: messages.Evaluated) -> None:
        """Keep the metrics of an evaluation."""
        metrics = {
            "eval_reward": found.mean_return,
            "eval_reward_min": min(found.returns),
            "eval_reward_max": max(found.returns),
            "eval_length": sum(found.lengths) / len(found.lengths),
            "eval_timesteps": found.timesteps,
        }
        if found.successes is not None:
            metrics["eval_success_rate"] = found.successes / len(found.returns)
        if len(self._metrics) < _MAX_WAITING:
            self._metrics[found.timesteps] = metrics

    def take(self, line: messages.Line) -> Mapping[str, messages.Number]:
        """Return the values of a line: what the trainer may report, and the result it marks."""
        step = line.values.get("eval_timesteps")
        own = {name: one for name, one in line.values.items() if not name.startswith("eval_")}
        found = self._metrics.pop(int(step), {}) if isinstance(step, int | float) else {}
        return {**own, **found}


class PeriodicEvaluation:
    """Evaluates policies, reports how good they are to the trainer, and detects a solved task."""

    def __init__(
        self,
        config: RunConfig,
        pool: WorkerPool,
        run_log: RunLog,
        results: PeriodicResults,
        *,
        trainer: Worker,
        on_solved: Callable[[int], None],
        is_solved: bool,
        failed_confirmations: int,
    ) -> None:
        """`on_solved` gets the step of the policy that was confirmed to solve the environment.

        A run that `is_solved` already, and was extended or resumed, isn't judged again.
        """
        self._on_solved = on_solved
        self._config = config
        self._pool = pool
        self._run_log = run_log
        self._results = results
        self._failures = 0
        self._has_reported_cut = False
        self._trainer = trainer
        self._tasks = Tasks()
        self._newest: PackedPolicy | None = None
        self._last_step: int | None = None
        self._has_policy = asyncio.Event()
        self._is_started = False
        self._detector = SolvedDetector(
            None if is_solved else config.environment.solved_threshold,
            failed_confirmations=failed_confirmations,
        )
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def evaluate(self, policy: PackedPolicy) -> None:
        """Evaluate a policy after the current one; only the newest waits."""
        self._newest = policy
        self._has_policy.set()
        if not self._is_started:
            self._is_started = True
            self._tasks.start(self._evaluate_all(), name="periodic evaluation")

    async def settle(self) -> None:
        """Wait for the end of a confirmation, if one is running."""
        await self._is_idle.wait()

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
            finally:
                self._is_idle.set()

    async def _evaluate_in_one_worker(self) -> None:
        options = self._config.evaluation
        command = commands.Evaluate(
            setup=self._config.setup(),
            deterministic=options.deterministic,
            disturbed=options.disturbances,
            # Each episode has its own time limit, however many there are.
            reports_each=True,
        )
        async with self._pool.job(command, low_priority=True) as job:
            player = EpisodePlayer(job, command)
            while True:
                await self._has_policy.wait()
                self._has_policy.clear()
                assert self._newest is not None
                await self._evaluate(player, self._newest)

    async def _evaluate(self, player: EpisodePlayer, policy: PackedPolicy) -> None:
        step, episodes = policy.header.timesteps, self._config.evaluation.episodes
        seed = selection_seed(step, episodes, is_repeated=step == self._last_step)
        self._last_step = step
        found, _ = await player.play(policy.frame, episodes=episodes, seed=seed)
        self._results.add(found)
        await self._report_cut(found)
        # Before the result is sent: after it the run may end.
        is_proposed = self._detector.proposes(found.mean_return)
        if is_proposed:
            self._is_idle.clear()
        result = commands.EvaluationResult(timesteps=step, mean_return=found.mean_return)
        self._trainer.send(messages.encode(result))
        if is_proposed:
            await self._confirm(player, policy)
            self._is_idle.set()

    async def _confirm(self, player: EpisodePlayer, policy: PackedPolicy) -> None:
        """Play the policy on other seeds, of which no choice depends."""
        step = policy.header.timesteps
        seed = confirmation_seed(step, CONFIRMATION_EPISODES)
        found, _ = await player.play(policy.frame, episodes=CONFIRMATION_EPISODES, seed=seed)
        mean, threshold = found.mean_return, self._detector.threshold
        assert threshold is not None
        is_solved = self._detector.confirm(mean)
        if is_solved:
            self._on_solved(step)
        await self._run_log.confirmation_ended(
            step, mean, threshold, episodes=CONFIRMATION_EPISODES, is_solved=is_solved
        )
        if is_solved and self._config.stop_when_solved:
            self._trainer.send(messages.encode(commands.Solved()))

    async def _report_cut(self, found: messages.Evaluated) -> None:
        """Log the first evaluation that cut episodes."""
        if not found.cut or self._has_reported_cut:
            return
        self._has_reported_cut = True
        message = (
            f"The evaluation at step {found.timesteps:,} cut {found.cut} of {len(found.returns)} "
            f"episodes at {found.step_limit:,} steps: the environment has no time limit. Their "
            "returns count up to there. wrappers.time_limit sets a limit for training, too."
        )
        await self._run_log.noted(messages.Noted(event_type="evaluation_cut", message=message))

    async def _log_failure(self, reason: str) -> None:
        self._failures += 1
        ends = "" if self._failures < _MAX_FAILURES else " There won't be another one."
        message = f"A periodic evaluation failed: {reason}.{ends}"
        _log.warning(message)
        await self._run_log.noted(
            messages.Noted(event_type="evaluation_failed", message=message, is_warning=True)
        )
