"""Sees whole episodes, step by step, as the environment gave them, for code that judges them."""

from dataclasses import dataclass
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from app.protocol.user_code import UserCodeError
from app.worker.envs.vectorized.pipeline import put_around

MOST_STEPS = 100_000
MOST_BYTES = 256 << 20
"""Of observations and actions of one episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """One whole episode; code gets it as `episode`."""

    observations: Any
    """One more than steps: the first and that after each step; an array, or a list of dicts."""
    actions: Any
    rewards: Any
    """What each step brought, as an array."""
    infos: list[dict[str, Any]]
    """What the environment told after each step."""
    terminated: bool
    """Whether it ended by itself."""
    truncated: bool
    """Whether a time limit ended it."""
    seed: int

    @property
    def return_(self) -> float:
        """The sum of its rewards."""
        return float(np.sum(self.rewards))

    @property
    def length(self) -> int:
        """How many steps it had."""
        return len(self.infos)


class EpisodeRecorder(gym.Wrapper[Any, Any, Any, Any]):
    """Writes down the episode that is being played; `episode` returns it once it is over."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._over: dict[str, Any] = {}
        self._is_too_long = False
        self._begin()

    @classmethod
    def at(cls, envs: VecEnv) -> "EpisodeRecorder":
        """Look at the only environment inside all layers."""
        return put_around(envs, cls)

    def episode(self, seed: int) -> PlayedEpisode:
        """Return the whole episode that ended last.

        Raises:
            UserCodeError: if it was too long to be kept.
        """
        if self._is_too_long:
            raise UserCodeError(
                f"Evaluation code gets episodes of at most {MOST_STEPS:,} steps and "
                f"{MOST_BYTES >> 20} MB of observations and actions; this one has more."
            )
        return PlayedEpisode(seed=seed, **self._over)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin to write down another episode."""
        observation, info = self.env.reset(**options)
        if self._infos:
            # The vector of environments resets by itself when an episode ends.
            self._close()
        self._begin()
        self._keep(self._observations, observation)
        return observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act, and write down what came of it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._has_room:
            self._keep(self._actions, action)
            self._keep(self._observations, observation)
            self._rewards.append(float(reward))
            self._infos.append(dict(info))
        self._ended = (bool(terminated), bool(truncated))
        return observation, reward, terminated, truncated, info

    def _begin(self) -> None:
        self._observations: list[Any] = []
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._infos: list[dict[str, Any]] = []
        self._ended = (False, False)
        self._bytes = 0

    @property
    def _has_room(self) -> bool:
        return self._bytes <= MOST_BYTES and len(self._infos) <= MOST_STEPS

    def _keep(self, kept: list[Any], value: Any) -> None:  # noqa: ANN401 - of any space
        """Add a copy: many environments use their arrays again."""
        copied = _copied(value)
        self._bytes += _size(copied)
        kept.append(copied)

    def _close(self) -> None:
        self._is_too_long = not self._has_room
        self._over = {
            "observations": _as_array(self._observations),
            "actions": _as_array(self._actions),
            "rewards": np.asarray(self._rewards),
            "infos": self._infos,
            "terminated": self._ended[0],
            "truncated": self._ended[1],
        }


def _copied(value: Any) -> Any:  # noqa: ANN401 - of any space
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_copied, value))
    return np.array(value)


def _size(value: Any) -> int:  # noqa: ANN401 - of any space
    if isinstance(value, dict):
        return sum(map(_size, value.values()))
    if isinstance(value, tuple):
        return sum(map(_size, value))
    return int(value.nbytes)


def _as_array(values: list[Any]) -> Any:  # noqa: ANN401 - an array, or a list of what isn't one
    is_array = values and isinstance(values[0], np.ndarray)
    return np.stack(values) if is_array else values
