"""Keep checkpoints: one at hand in case of a stop, one delivered every half minute or sooner."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol.pipe import Channel
from app.worker.models.models import save_weights
from app.worker.training.checkpoint import take_checkpoint

_DELIVER_EVERY_S = 30.0
_AT_FIRST_S = 3.0
"""Most trainings are over in a minute: early ones come sooner, each three times later."""
_LARGEST_SHARE = 0.01
"""Taking checkpoints may use this part of the time; so one is always as recent as that allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _AtHand:
    """A checkpoint that was taken."""

    packed: bytes
    policy: bytes
    """Weights and scaling alone, to play or to begin another run with."""
    timesteps: int
    lines: int


class CheckpointKeeper:
    """Takes checkpoints between rollouts, when a model's state is whole."""

    def __init__(
        self, envs: VecEnv, channel: Channel, *, before_delivery: Callable[[], None]
    ) -> None:
        """Keep checkpoints; `before_delivery` sends the lines that one of them counts."""
        self._envs = envs
        self._channel = channel
        self._before_delivery = before_delivery
        self._at_hand: _AtHand | None = None
        self._next_at = -math.inf
        # The first one is delivered at once: from then on nothing can be lost for good.
        self._delivered_at = -math.inf
        self._every_s = _AT_FIRST_S
        self._delivered_timesteps = -1

    def is_due(self, now: float) -> bool:
        """Whether there is something to do between two rollouts."""
        return now >= self._next_at or now - self._delivered_at >= self._every_s

    def between_rollouts(
        self, model: BaseAlgorithm, counts: Callable[[], dict[str, Any]], *, now: bool = False
    ) -> None:
        """Take a checkpoint if it is time for one, or if one is needed `now`."""
        clock = time.perf_counter()
        if now or clock >= self._next_at:
            counted = counts()
            self._at_hand = _AtHand(
                packed=take_checkpoint(model, self._envs, counted),
                policy=save_weights(model, self._envs),
                timesteps=model.num_timesteps,
                lines=counted["lines"],
            )
            took = time.perf_counter() - clock
            # Off-policy a stop waits for the next rollout, so only what is delivered is needed.
            least = self._every_s if isinstance(model, OffPolicyAlgorithm) else 0.0
            self._next_at = clock + max(least, took / _LARGEST_SHARE)
        if clock - self._delivered_at >= self._every_s:
            self.deliver()
            if self._delivered_timesteps > 0:
                self._every_s = min(3 * self._every_s, _DELIVER_EVERY_S)

    def deliver(self) -> None:
        """Send the newest checkpoint to the lab, unless it has it."""
        if self._at_hand is None:
            return
        kept = self._at_hand
        if kept.timesteps != self._delivered_timesteps:
            self._before_delivery()
            self._channel.send_file("checkpoint.pt", kept.policy)
            self._channel.send_file(
                "checkpoint.zip", kept.packed, timesteps=kept.timesteps, lines=kept.lines
            )
            self._delivered_timesteps = kept.timesteps
        self._delivered_at = time.perf_counter()
