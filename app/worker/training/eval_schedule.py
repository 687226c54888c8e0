"""Evaluation beside training: hand the policy out, hear its worth, know when it is solved."""

import math
import time
from collections.abc import Mapping
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands, messages
from app.protocol.messages import FileName
from app.protocol.pipe import Channel
from app.worker.envs.vectorized.pipeline import save_scaling
from app.worker.models.models import save_model, save_weights

SOLVED_IN_A_ROW = 3
"""So many evaluations must reach the threshold, one after another."""

_LOST_AFTER_S = 900.0
"""Longer than an evaluation may take: then there won't be a verdict."""
_NOTHING = {"next_at": 0, "in_a_row": 0, "best": None}


class EvalSchedule:
    """Decides when a policy is evaluated, keeps the best one, and says when the task is solved."""

    def __init__(
        self, job: commands.Train, envs: VecEnv, channel: Channel, counts: Mapping[str, Any]
    ) -> None:
        known = counts.get("judge", _NOTHING)
        self._every = job.evaluate_every
        self._solved_from = job.solved_from
        self._envs = envs
        self._channel = channel
        self.next_at: float = math.inf
        """At which step the policy is to be evaluated next."""
        if job.evaluate_every is not None:
            self.next_at = known["next_at"] or job.evaluate_every
        self._in_a_row: int = known["in_a_row"]
        self._best: float | None = known["best"]
        self._handed_out: dict[FileName, bytes] = {}
        self._handed_out_at = -1
        self._lost_at = 0.0
        self.has_solved = False

    def counts(self) -> dict[str, Any]:
        """Return what has been counted, to go on from it."""
        next_at = 0 if self._every is None else self.next_at
        return {"next_at": next_at, "in_a_row": self._in_a_row, "best": self._best}

    @property
    def is_waiting(self) -> bool:
        """Whether a policy is being evaluated."""
        return bool(self._handed_out)

    def has_judged(self, timesteps: int) -> bool:
        """Whether there is nothing to evaluate, or the policy of this step was."""
        return self._every is None or self._handed_out_at == timesteps

    def is_due(self, timesteps: int) -> bool:
        """Whether it is time for another evaluation, and the last one is over or lost."""
        if timesteps < self.next_at:
            return False
        return not self._handed_out or time.monotonic() > self._lost_at

    def hand_out(self, model: BaseAlgorithm, episode: int) -> None:
        """Give the policy to whoever evaluates it, and keep it: it may turn out to be the best."""
        assert self._every is not None
        self.next_at = (model.num_timesteps // self._every + 1) * self._every
        self._lost_at = time.monotonic() + _LOST_AFTER_S
        weights = save_weights(model, self._envs)
        self._handed_out = {"best.zip": save_model(model), "best.pt": weights}
        if (scaling := save_scaling(self._envs)) is not None:
            self._handed_out["best-vecnormalize.pkl"] = scaling
        self._handed_out_at = model.num_timesteps
        header = messages.WeightsHeader(
            episode=episode, timesteps=model.num_timesteps, purpose="evaluation"
        )
        self._channel.send_weights(header, weights)

    def hear(self, judged: commands.Judged) -> dict[str, Any]:
        """Take in what a policy is worth and return what to write down."""
        score = sum(judged.returns) / len(judged.returns)
        files, self._handed_out = self._handed_out, {}
        is_known = judged.timesteps == self._handed_out_at
        if is_known and (self._best is None or score > self._best):
            self._best = score
            for name, content in files.items():
                self._channel.send_file(name, content, timesteps=judged.timesteps)
        is_reached = self._solved_from is not None and score >= self._solved_from
        self._in_a_row = self._in_a_row + 1 if is_reached else 0
        self.has_solved = self._in_a_row >= SOLVED_IN_A_ROW
        return {
            "eval_reward": score,
            "eval_reward_min": min(judged.returns),
            "eval_reward_max": max(judged.returns),
            "eval_length": sum(judged.lengths) / len(judged.lengths),
            "eval_timesteps": judged.timesteps,
        }
