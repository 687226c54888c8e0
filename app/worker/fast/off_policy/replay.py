"""What off-policy algorithms remember, in SB3's own replay buffer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize

from app.worker.fast.flat import Array


@dataclass(frozen=True, slots=True)
class Memories:
    """Past steps to learn from."""

    observations: npt.NDArray[Any]
    actions: npt.NDArray[Any]
    """One row each, as the buffer keeps them."""
    next_observations: npt.NDArray[Any]
    rewards: Array
    discounts: Array
    """How much counts what comes after; 0 where the episode was over."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of all environments."""

    observed: Any
    actions: npt.NDArray[Any]
    observed_next: Any
    """Where an episode ended, this is how the next one begins."""
    rewards: Array
    dones: npt.NDArray[np.bool_]
    infos: list[dict[str, Any]]


def is_plain(buffer: ReplayBuffer, scaling: VecNormalize | None) -> bool:
    """Whether steps can be read as they were written, one at a time."""
    return type(buffer) is ReplayBuffer and not buffer.optimize_memory_usage and scaling is None


def remember(buffer: ReplayBuffer, step: Transition) -> None:
    """Write a step where SB3's `add` would write it."""
    place, shape = buffer.pos, buffer.observations.shape[1:]
    buffer.observations[place] = step.observed.reshape(shape)
    buffer.next_observations[place] = step.observed_next.reshape(shape)
    buffer.actions[place] = step.actions.reshape(buffer.actions.shape[1:])
    buffer.rewards[place] = step.rewards
    buffer.dones[place] = step.dones
    buffer.timeouts[place] = 0.0
    if np.count_nonzero(step.dones):
        for n in np.flatnonzero(step.dones).tolist():
            buffer.next_observations[place, n] = step.infos[n]["terminal_observation"]
            buffer.timeouts[place, n] = step.infos[n]["TimeLimit.truncated"]
    buffer.pos = (place + 1) % buffer.buffer_size
    buffer.full = buffer.full or buffer.pos == 0


def draw(buffer: ReplayBuffer, size: int, gamma: float, scaling: VecNormalize | None) -> Memories:
    """Draw steps at random, the very ones that SB3 would draw."""
    if not is_plain(buffer, scaling):
        return _draw_as_sb3(buffer, size, gamma, scaling)
    until = buffer.buffer_size if buffer.full else buffer.pos
    rows = np.random.randint(0, until, size=size)
    places = rows * buffer.n_envs + np.random.randint(0, buffer.n_envs, size=size)
    is_over = buffer.dones.take(places) * (1 - buffer.timeouts.take(places))
    return Memories(
        observations=_flat(buffer.observations).take(places, axis=0),
        actions=_flat(buffer.actions).take(places, axis=0),
        next_observations=_flat(buffer.next_observations).take(places, axis=0),
        rewards=buffer.rewards.take(places),
        discounts=(1 - is_over) * np.float32(gamma),
    )


def _flat(held: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return held.reshape(-1, *held.shape[2:])


def _draw_as_sb3(
    buffer: ReplayBuffer, size: int, gamma: float, scaling: VecNormalize | None
) -> Memories:
    drawn: Any = buffer.sample(size, env=scaling)
    discounts = gamma if drawn.discounts is None else drawn.discounts.numpy().ravel()
    return Memories(
        observations=drawn.observations.numpy(),
        actions=drawn.actions.numpy(),
        next_observations=drawn.next_observations.numpy(),
        rewards=drawn.rewards.numpy().ravel(),
        discounts=((1 - drawn.dones.numpy().ravel()) * discounts).astype(np.float32),
    )
