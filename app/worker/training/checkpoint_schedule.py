"""Schedule checkpoints: keep a recent one for a stop, and send one at least every 30 s."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import Channel
from app.worker.models.models import save_weights
from app.worker.training.checkpoint import take_checkpoint

_DELIVER_EVERY_S = 30.0
_FIRST_INTERVAL_S = 3.0
"""Most trainings take less than a minute, so intervals start short and triple each time."""
_MAX_SHARE = 0.01
"""The share of the time that taking checkpoints may use; it limits how often one is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A checkpoint and its position in the training."""

    packed: bytes
    policy: bytes
    """Weights and normalization only, to play the policy or to transfer it to another run."""
    timesteps: int
    lines: int


class CheckpointSchedule:
    """Takes checkpoints between rollouts, when a model's state is consistent."""

    def __init__(
        self, envs: VecEnv, channel: Channel, *, before_delivery: Callable[[], None]
    ) -> None:
        """Call `before_delivery` to send the lines of metrics that a checkpoint counts."""
        self._envs = envs
        self._channel = channel
        self._before_delivery = before_delivery
        self._latest: _Taken | None = None
        self._next_at = -math.inf
        # The first one is delivered at once: from then on the run can be resumed.
        self._delivered_at = -math.inf
        self._every_s = _FIRST_INTERVAL_S
        self._delivered_timesteps = -1

    def is_due(self, now: float) -> bool:
        """Whether a checkpoint must be taken or delivered."""
        return now >= self._next_at or now - self._delivered_at >= self._every_s

    def between_rollouts(
        self, model: BaseAlgorithm, counts: Callable[[], dict[str, Any]], *, now: bool = False
    ) -> None:
        """Take a checkpoint if one is due, or if it is needed `now`; deliver it if that is due."""
        clock = time.perf_counter()
        if now or clock >= self._next_at:
            counted = counts()
            self._latest = _Taken(
                packed=take_checkpoint(model, self._envs, counted),
                policy=save_weights(model, self._envs),
                timesteps=model.num_timesteps,
                lines=counted["lines"],
            )
            took = time.perf_counter() - clock
            # Off-policy, a stop waits for the next rollout and takes a checkpoint there: only
            # those that are delivered are needed in between.
            min_interval = self._every_s if isinstance(model, OffPolicyAlgorithm) else 0.0
            self._next_at = clock + max(min_interval, took / _MAX_SHARE)
        if clock - self._delivered_at >= self._every_s:
            self.deliver()
            if self._delivered_timesteps > 0:
                self._every_s = min(3 * self._every_s, _DELIVER_EVERY_S)

    def deliver(self) -> None:
        """Send the latest checkpoint unless it was sent before."""
        if self._latest is None:
            return
        latest = self._latest
        if latest.timesteps != self._delivered_timesteps:
            self._before_delivery()
            self._channel.send_file("checkpoint.pt", latest.policy)
            self._channel.send_file(
                "checkpoint.zip", latest.packed, timesteps=latest.timesteps, lines=latest.lines
            )
            self._delivered_timesteps = latest.timesteps
        self._delivered_at = time.perf_counter()
