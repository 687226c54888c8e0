"""Keep checkpoints: one at hand in case of a stop, one delivered every half minute."""

import math
import time
from collections.abc import Callable
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.worker.channel import Channel
from app.worker.checkpoint import take_checkpoint

_DELIVER_EVERY_S = 30.0
_LARGEST_SHARE = 0.01
"""Taking checkpoints may use this part of the time; so one is always as recent as that allows."""


class CheckpointKeeper:
    """Takes checkpoints between rollouts, when a model's state is whole."""

    def __init__(self, envs: VecEnv, channel: Channel) -> None:
        self._envs = envs
        self._channel = channel
        self._at_hand: tuple[bytes, int, int] | None = None
        self._next_at = -math.inf
        # The first one is delivered at once: from then on nothing can be lost for good.
        self._delivered_at = -math.inf
        self._delivered_timesteps = -1

    def between_rollouts(
        self, model: BaseAlgorithm, counts: Callable[[], dict[str, Any]], *, now: bool = False
    ) -> None:
        """Take a checkpoint if it is time for one, or if one is needed `now`."""
        clock = time.monotonic()
        if now or clock >= self._next_at:
            counted = counts()
            packed = take_checkpoint(model, self._envs, counted)
            self._at_hand = (packed, model.num_timesteps, counted["lines"])
            took = time.monotonic() - clock
            # Off-policy a stop waits for the next rollout, so only what is delivered is needed.
            least = _DELIVER_EVERY_S if isinstance(model, OffPolicyAlgorithm) else 0.0
            self._next_at = clock + max(least, took / _LARGEST_SHARE)
        if clock - self._delivered_at >= _DELIVER_EVERY_S:
            self.deliver()

    def deliver(self) -> None:
        """Send the newest checkpoint to the lab, unless it has it."""
        if self._at_hand is None:
            return
        packed, timesteps, lines = self._at_hand
        if timesteps != self._delivered_timesteps:
            self._channel.send_file("checkpoint.zip", packed, timesteps=timesteps, lines=lines)
            self._delivered_timesteps = timesteps
        self._delivered_at = time.monotonic()
