"""SB3 callback of a training: metrics, evaluations, checkpoints and requests of the web process."""

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, Control, Request, commands, messages
from app.worker.envs.environments import success_in
from app.worker.models.ars import StopRequestedError
from app.worker.models.schedule_end import move_schedule_end
from app.worker.training.checkpoint_schedule import CheckpointSchedule
from app.worker.training.command_handler import CommandHandler
from app.worker.training.diagnostics import describe_first_policy
from app.worker.training.episode_statistics import EpisodeStatistics
from app.worker.training.eval_schedule import EvalSchedule
from app.worker.training.live_changes import apply_change
from app.worker.training.metrics_reporter import MetricsReporter
from app.worker.training.policy_sender import PolicySender
from app.worker.training.stopwatch import Stopwatch
from app.worker.training.training_warnings import SLOW_STEP_S, TrainingWarnings
from app.worker.training.update_statistics import UpdateStatistics

_LAST_RESULTS_TIMEOUT_S = 60.0
_POLL_EVERY_S = 0.1
_CHECK_EVERY_S = 0.02
"""How long a request may wait during steps or gradient steps."""
_NOT_SHAPED: Mapping[str, Any] = {"terms": {}, "values": {}}
_INITIAL_COUNTS: Mapping[str, Any] = {
    "elapsed_s": 0.0,
    "lines": 0,
    "rewards": (),
    "lengths": (),
    "episodes": 0,
    "rollouts": 0,
    "updates_told": 0,
    "vec_steps": 0,
}


class TrainingCallback(BaseCallback):
    """Connects SB3's training loop with metrics, evaluations, checkpoints and requests."""

    def __init__(
        self,
        job: commands.Train,
        envs: VecEnv,
        channel: Channel,
        control: Control,
        counts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._is_untrained = counts is None and not job.transfer
        counts = counts or _INITIAL_COUNTS
        self._channel = channel
        self.n_calls = counts["vec_steps"]
        self._rollouts: int = counts["rollouts"]
        self._clock = Stopwatch(counts["elapsed_s"])
        self._updates = UpdateStatistics(self._clock, counts["updates_told"])
        self._episodes = EpisodeStatistics(counts)
        self._metrics = MetricsReporter(
            channel, self._progress, total=job.total_timesteps, lines=counts["lines"]
        )
        self._warnings = TrainingWarnings(self._warn, self.n_calls)
        self._policies = PolicySender(envs, channel, control)
        self.checkpoints = CheckpointSchedule(
            envs, channel, before_delivery=self._metrics.send_lines
        )
        self._evaluations = EvalSchedule(job, envs, channel, counts)
        self._commands = CommandHandler(
            control,
            channel,
            on_request=self._on_request,
            on_pause=self._on_pause,
            while_paused=self._while_paused,
            on_resume=self._on_resume,
        )
        self._stepped_at = time.perf_counter()
        self._next_check = self._next_gradient_check = -math.inf
        self._loop_budget = job.total_timesteps
        """The budget that SB3's loop was started with; later changes don't affect the loop."""
        self._update_end()

    @property
    def total(self) -> int:
        """The budget in steps."""
        return self._metrics.total

    @property
    def has_solved(self) -> bool:
        """Whether the task is solved, according to the evaluations."""
        return self._evaluations.has_solved

    @property
    def must_end(self) -> bool:
        """Whether training must end even if budget is left."""
        return self._commands.stop_requested or self.has_solved

    @property
    def updates(self) -> int:
        """The number of updates: rollouts on-policy, gradient steps off-policy."""
        if self._is_on_policy:
            return max(0, self._rollouts - 1)
        return int(self.model._n_updates)

    def counts(self) -> dict[str, Any]:
        """Return all counters for a checkpoint, which is taken at the start of a rollout."""
        return {
            "elapsed_s": self._clock.elapsed,
            "lines": self._metrics.line_count,
            **self._episodes.counts(),
            # On resume, the rollout that begins now is started again.
            "rollouts": self._rollouts - 1,
            "updates_told": self._updates.reported,
            "vec_steps": self.n_calls,
            "judge": self._evaluations.counts(),
        }

    def change(self, change: messages.Change) -> None:
        """Apply a change of hyperparameters or of the budget."""
        apply_change(self.model, change)
        if change.total_timesteps is not None:
            move_schedule_end(self.model, change, self.total)
            self._metrics.total = self.model._total_timesteps = change.total_timesteps
            self._update_end()

    def finish(self) -> None:
        """Report the last update, and wait briefly for the evaluation of the final policy."""
        if not self._updates.has_begun:
            # Training never began.
            return
        if not self.must_end and self.num_timesteps < self._ends_at and self._is_on_policy:
            # Count the update of the last rollout, as no further rollout starts.
            self._rollouts += 1
        self._report_update(is_last=True)
        if self._metrics.line_count == 0:
            self._metrics.add_line()
        self._wait_for_last_evaluations()
        self._report(time.perf_counter())

    def on_error(self) -> None:
        """Send the metrics that were measured before the error."""
        self._metrics.send_lines()

    def _on_training_start(self) -> None:
        self._loop_budget = self.model._total_timesteps
        self._update_end()
        self._metrics.measure_speed(self.num_timesteps)
        if self._updates.has_begun:
            # A larger budget restarted SB3's loop.
            return
        self._updates.begin(self.model, self._on_gradient_step)
        first = describe_first_policy(self.model) if self._is_untrained else None
        if first is not None:
            self._metrics.note("initial_policy", first[0], is_warning=first[1])
        self._report(time.perf_counter())

    def _on_rollout_start(self) -> None:
        if self._clock.is_collecting:
            # ARS calls this twice per rollout.
            return
        self._stepped_at = now = self._clock.start_collecting()
        self._rollouts += 1
        if self._is_on_policy:
            self._report_update()
        is_interrupted = self._commands.is_interrupted
        if is_interrupted or self.checkpoints.is_due(now):
            self.checkpoints.between_rollouts(self.model, self.counts, now=is_interrupted)
        if is_interrupted:
            self._commands.wait_if_paused()
        if self._commands.stop_requested:
            raise StopRequestedError

    def _on_rollout_end(self) -> None:
        self._updates.on_rollout_end(self._clock.start_learning())

    def _on_step(self) -> bool:
        if np.count_nonzero(self.locals["dones"]):
            self._report_episodes(self.locals["infos"])
        now = time.perf_counter()
        if now - self._stepped_at > SLOW_STEP_S:
            self._warnings.on_slow_step(now - self._stepped_at)
        self._stepped_at = now
        if now < self._next_check and self.num_timesteps < self._next_due_step:
            return True
        return self._do_due_work(now)

    def _do_due_work(self, now: float) -> bool:
        """Do what is due or requested; return whether to continue.

        Not called at every step: with small networks that would cost a few per cent of the time.
        """
        self._next_check = now + _CHECK_EVERY_S
        if self._metrics.is_due(now):
            self._report_update()
            self._report(now)
        self._commands.handle_requests()
        if self._evaluations.is_due(self.model, self._episodes.mean_reward):
            self._evaluations.send_policy(self.model, self._episodes.count)
        self._next_due_step = min(self._ends_at, self._evaluations.next_at)
        return self.num_timesteps < self._ends_at and not self._must_end_here(now)

    def _on_gradient_step(self) -> None:
        """Report during long updates, and stop or pause in the middle of one if requested."""
        now = time.perf_counter()
        if now < self._next_gradient_check:
            return
        self._next_gradient_check = now + _CHECK_EVERY_S
        self._updates.on_gradient_step(now)
        if self._must_end_here(now):
            raise StopRequestedError
        if self._metrics.is_due(now):
            self._report(now)

    @property
    def _is_on_policy(self) -> bool:
        return isinstance(self.model, OnPolicyAlgorithm)

    def _update_end(self) -> None:
        """Set the step at which training ends although SB3's loop would continue."""
        is_lowered = self.total < self._loop_budget
        self._ends_at = 0 if self.has_solved else self.total if is_lowered else math.inf
        self._next_due_step = 0.0

    def _must_end_here(self, now: float) -> bool:
        return self._commands.must_end_here(now, may_pause=self._is_on_policy)

    def _on_request(self, request: Request) -> None:
        match request:
            case messages.Change():
                self.change(request)
                self._channel.send(messages.Changed(timesteps=self.num_timesteps))
            case commands.EvaluationResult():
                self._metrics.add_line(**self._evaluations.add_result(request))
            case commands.Solved():
                self._evaluations.has_solved = True
                self._update_end()

    def _on_pause(self) -> None:
        self._report(time.perf_counter())
        self.checkpoints.deliver()

    def _while_paused(self) -> None:
        self._policies.send_if_wanted(self.model, self._progress(None), time.perf_counter())

    def _on_resume(self, paused_s: float) -> None:
        self._clock.exclude(paused_s)
        self._stepped_at = time.perf_counter()
        self._metrics.measure_speed(self.num_timesteps, restart=True)

    def _wait_for_last_evaluations(self) -> None:
        """Wait briefly for running evaluations, and have the final policy evaluated."""
        until = time.monotonic() + _LAST_RESULTS_TIMEOUT_S
        while not self.must_end and time.monotonic() < until:
            self._commands.handle_requests()
            if not self._evaluations.is_waiting:
                if self._evaluations.has_evaluated(self.model):
                    return
                self._evaluations.send_policy(self.model, self._episodes.count)
            self._channel.send(messages.Alive())
            time.sleep(_POLL_EVERY_S)
        if self._evaluations.is_waiting and not self.must_end:
            self._warn("evaluation_left_out", "The last evaluation took too long and was skipped.")

    def _report_episodes(self, infos: list[dict[str, Any]]) -> None:
        for info in infos:
            if episode := info.get("episode"):
                self._warnings.on_episode(self.n_calls)
                returns = {messages.AGENT: float(episode["r"])}
                shaped = info.get("shaped", _NOT_SHAPED)
                line = self._episodes.add(returns, int(episode["l"]), is_success=success_in(info))
                self._metrics.add_line(**line, terms=shaped["terms"], **shaped["values"])

    def _report_update(self, *, is_last: bool = False) -> None:
        logged = self.logger.name_to_value
        if values := self._updates.take(logged, self.updates, is_last=is_last):
            self._metrics.add_line(**values)

    def _report(self, now: float) -> None:
        self._metrics.report(now, self.num_timesteps)
        self._policies.send_if_wanted(self.model, self._progress(None), now)
        self._warnings.check(self.n_calls)

    def _progress(self, fps: float | None) -> messages.Progressed:
        return messages.Progressed(
            timesteps=self.num_timesteps,
            vec_steps=self.n_calls,
            updates=self.updates,
            episodes=self._episodes.count,
            elapsed_s=round(self._clock.elapsed, 3),
            fps=fps,
        )

    def _warn(self, event_type: str, text: str) -> None:
        self._metrics.note(event_type, text, is_warning=True)
