"""Periodic evaluation: when to evaluate, and which policy is best."""

import math
import time
from collections.abc import Mapping
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel, FileName, commands, messages
from app.worker.envs.vectorized.pipeline import save_normalization
from app.worker.models.models import save_model, save_weights

_TIMEOUT_S = 900.0
"""Longer than an evaluation may take: after this time no result is expected."""
_INITIAL_COUNTS = {"next_at": 0, "best": None}


class EvalSchedule:
    """Decides when to evaluate the policy, and keeps the best one."""

    def __init__(
        self, job: commands.Train, envs: VecEnv, channel: Channel, counts: Mapping[str, Any]
    ) -> None:
        saved = counts.get("judge", _INITIAL_COUNTS)
        self._every = job.evaluate_every
        self._above = job.evaluate_above
        self._envs = envs
        self._channel = channel
        self.next_at: float = math.inf
        """The step of the next evaluation."""
        if job.evaluate_every is not None:
            self.next_at = saved["next_at"] or job.evaluate_every
        self._best: float | None = saved["best"]
        self._pending_files: dict[FileName, bytes] = {}
        self._sent_timesteps = -1
        self._sent_updates: int = saved.get("updates", -1)
        self._times_out_at = 0.0
        self.has_solved = False
        """Whether the web process found that the task is solved."""

    def counts(self) -> dict[str, Any]:
        """Return the counters for a checkpoint."""
        next_at = 0 if self._every is None else self.next_at
        return {"next_at": next_at, "best": self._best, "updates": self._sent_updates}

    @property
    def is_waiting(self) -> bool:
        """Whether a policy is being evaluated."""
        return bool(self._pending_files)

    def has_evaluated(self, model: BaseAlgorithm) -> bool:
        """Whether evaluations are off, or these very weights were sent to be evaluated.

        An evaluation can be due in the middle of the last rollout, before the last update.
        """
        return self._every is None or self._sent_updates == model._n_updates

    def is_due(self, model: BaseAlgorithm, mean_reward: float | None) -> bool:
        """Whether it is time for another evaluation, and the last one is over or timed out.

        The same weights aren't evaluated twice: that would only repeat a measurement.
        """
        if model.num_timesteps < self.next_at or model._n_updates == self._sent_updates:
            return False
        if self._above is not None and (mean_reward is None or mean_reward <= self._above):
            return False
        return not self._pending_files or time.monotonic() > self._times_out_at

    def send_policy(self, model: BaseAlgorithm, episode: int) -> None:
        """Send the policy to be evaluated, and keep its files in case it is the best one."""
        assert self._every is not None
        self.next_at = (model.num_timesteps // self._every + 1) * self._every
        self._times_out_at = time.monotonic() + _TIMEOUT_S
        weights = save_weights(model, self._envs)
        self._pending_files = {"best.zip": save_model(model), "best.pt": weights}
        if (normalization := save_normalization(self._envs)) is not None:
            self._pending_files["best-vecnormalize.pkl"] = normalization
        self._sent_timesteps, self._sent_updates = model.num_timesteps, model._n_updates
        header = messages.WeightsHeader(
            episode=episode, timesteps=model.num_timesteps, purpose="evaluation"
        )
        self._channel.send_weights(header, weights)

    def add_result(self, result: commands.EvaluationResult) -> dict[str, Any]:
        """Add the result of an evaluation and return the metrics that mark it."""
        if result.timesteps == self._sent_timesteps:
            files, self._pending_files = self._pending_files, {}
            if self._best is None or result.mean_return > self._best:
                self._best = result.mean_return
                for name, content in files.items():
                    self._channel.send_file(name, content, timesteps=result.timesteps)
        return {"eval_timesteps": result.timesteps}
