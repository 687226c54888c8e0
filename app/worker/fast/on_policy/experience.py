"""What a rollout brought, in the order in which Stable-Baselines3 learns from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import RolloutBuffer

from app.worker.fast.flat import Array
from app.worker.fast.on_policy.actions import ActionKind


@dataclass(frozen=True, slots=True)
class Experience:
    """Steps of all environments, one after another; actions have a column each."""

    observations: npt.NDArray[Any]
    actions: npt.NDArray[Any]
    log_probs: Array
    values: Array
    advantages: Array
    returns: Array

    @classmethod
    def of(cls, buffer: RolloutBuffer, actions: ActionKind) -> "Experience":
        """Read a full buffer, whose arrays have a row per step and a column per environment."""

        def flat(held: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return held.swapaxes(0, 1).reshape(len(held) * held.shape[1], *held.shape[2:])

        return cls(
            observations=flat(buffer.observations),
            actions=actions.columns(flat(buffer.actions)),
            log_probs=flat(buffer.log_probs),
            values=flat(buffer.values),
            advantages=flat(buffer.advantages),
            returns=flat(buffer.returns),
        )

    def __len__(self) -> int:
        return len(self.returns)

    def reordered(self, order: npt.NDArray[np.int64]) -> "Experience":
        """Return the steps in another order."""
        return Experience(
            observations=self.observations.take(order, axis=0),
            actions=self.actions.take(order, axis=1),
            log_probs=self.log_probs.take(order),
            values=self.values.take(order),
            advantages=self.advantages.take(order),
            returns=self.returns.take(order),
        )


def normalized(advantages: Array) -> Array:
    """Scale advantages, each row by itself, to mean 0 and deviation 1."""
    if advantages.shape[-1] < 2:
        return advantages
    centred = advantages - advantages.mean(axis=-1, keepdims=True)
    deviation = advantages.std(axis=-1, ddof=1, keepdims=True)
    result: Array = centred / (deviation + np.float32(1e-8))
    return result
