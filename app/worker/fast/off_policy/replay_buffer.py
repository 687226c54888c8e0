"""Add to SB3's replay buffer and sample from it without SB3's copies."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize

from app.worker.fast.flat import Array


@dataclass(frozen=True, slots=True)
class Batch:
    """A minibatch sampled from the replay buffer."""

    observations: npt.NDArray[Any]
    actions: npt.NDArray[Any]
    """One row each, as stored in the buffer."""
    next_observations: npt.NDArray[Any]
    rewards: Array
    discounts: Array
    """The discount factor; 0 where the episode terminated."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of all parallel environments."""

    observations: Any
    actions: npt.NDArray[Any]
    next_observations: Any
    """Where an episode ended, the first observation of the next one."""
    rewards: Array
    dones: npt.NDArray[np.bool_]
    infos: list[dict[str, Any]]


def allows_direct_access(buffer: ReplayBuffer, normalization: VecNormalize | None) -> bool:
    """Whether transitions can be read as they were written, without SB3's processing."""
    return (
        type(buffer) is ReplayBuffer and not buffer.optimize_memory_usage and normalization is None
    )


def add(buffer: ReplayBuffer, transition: Transition) -> None:
    """Add a transition as the buffer's own `add` does."""
    pos, shape = buffer.pos, buffer.observations.shape[1:]
    buffer.observations[pos] = transition.observations.reshape(shape)
    buffer.next_observations[pos] = transition.next_observations.reshape(shape)
    buffer.actions[pos] = transition.actions.reshape(buffer.actions.shape[1:])
    buffer.rewards[pos] = transition.rewards
    buffer.dones[pos] = transition.dones
    buffer.timeouts[pos] = 0.0
    if np.count_nonzero(transition.dones):
        for n in np.flatnonzero(transition.dones).tolist():
            buffer.next_observations[pos, n] = transition.infos[n]["terminal_observation"]
            buffer.timeouts[pos, n] = transition.infos[n]["TimeLimit.truncated"]
    buffer.pos = (pos + 1) % buffer.buffer_size
    buffer.full = buffer.full or buffer.pos == 0


def sample(
    buffer: ReplayBuffer, size: int, gamma: float, normalization: VecNormalize | None
) -> Batch:
    """Sample the transitions that the buffer's own `sample` would return."""
    if not allows_direct_access(buffer, normalization):
        return _sample_with_sb3(buffer, size, gamma, normalization)
    until = buffer.buffer_size if buffer.full else buffer.pos
    rows = np.random.randint(0, until, size=size)
    indices = rows * buffer.n_envs + np.random.randint(0, buffer.n_envs, size=size)
    terminated = buffer.dones.take(indices) * (1 - buffer.timeouts.take(indices))
    return Batch(
        observations=_flat(buffer.observations).take(indices, axis=0),
        actions=_flat(buffer.actions).take(indices, axis=0),
        next_observations=_flat(buffer.next_observations).take(indices, axis=0),
        rewards=buffer.rewards.take(indices),
        discounts=(1 - terminated) * np.float32(gamma),
    )


def _flat(stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return stored.reshape(-1, *stored.shape[2:])


def _sample_with_sb3(
    buffer: ReplayBuffer, size: int, gamma: float, normalization: VecNormalize | None
) -> Batch:
    samples: Any = buffer.sample(size, env=normalization)
    discounts = gamma if samples.discounts is None else samples.discounts.numpy().ravel()
    return Batch(
        observations=samples.observations.numpy(),
        actions=samples.actions.numpy(),
        next_observations=samples.next_observations.numpy(),
        rewards=samples.rewards.numpy().ravel(),
        discounts=((1 - samples.dones.numpy().ravel()) * discounts).astype(np.float32),
    )
