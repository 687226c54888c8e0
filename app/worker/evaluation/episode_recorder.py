"""Record whole episodes for evaluation code, with the environment's original values."""

from dataclasses import dataclass
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import UserCodeError
from app.worker.envs.vectorized.pipeline import wrap_single_env
from app.worker.envs.wrappers import environments_actions

MAX_STEPS = 100_000
MAX_BYTES = 256 << 20
"""Size limit of one episode's observations and actions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """One whole episode; evaluation code receives it as `episode`."""

    observations: Any
    """The first observation and the one after each step, as an array or a list of dicts."""
    actions: Any
    rewards: Any
    """The reward of each step, as an array."""
    infos: list[dict[str, Any]]
    """The info of each step."""
    terminated: bool
    """Whether the episode terminated."""
    truncated: bool
    """Whether the episode was truncated, for example by a time limit."""
    seed: int

    @property
    def return_(self) -> float:
        """The sum of the rewards."""
        return float(np.sum(self.rewards))

    @property
    def length(self) -> int:
        """The number of steps."""
        return len(self.infos)


class EpisodeRecorder(gym.Wrapper[Any, Any, Any, Any]):
    """Records the episode that is being played; `last_episode` returns it once it is over."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._actions_of_env = environments_actions(env)
        self._last: dict[str, Any] = {}
        self._is_too_long = False
        self._begin()

    @classmethod
    def insert_into(cls, envs: VecEnv) -> "EpisodeRecorder":
        """Wrap the single environment inside all vectorized wrappers."""
        return wrap_single_env(envs, cls)

    def last_episode(self, seed: int) -> PlayedEpisode:
        """Return the episode that ended last.

        Raises:
            UserCodeError: if it was too long to be kept.
        """
        if self._is_too_long:
            raise UserCodeError(
                f"Evaluation code gets episodes of at most {MAX_STEPS:,} steps and "
                f"{MAX_BYTES >> 20} MB of observations and actions; this one has more."
            )
        return PlayedEpisode(seed=seed, **self._last)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and start recording a new episode."""
        observation, info = self.env.reset(**options)
        if self._infos:
            # The vectorized environment resets automatically when an episode ends.
            self._finish()
        self._begin()
        self._keep(self._observations, observation)
        return observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step and record it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._actions_of_env is not None:
            action = self._actions_of_env[action]
        if self._is_within_limits:
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
    def _is_within_limits(self) -> bool:
        return self._bytes <= MAX_BYTES and len(self._infos) <= MAX_STEPS

    def _keep(self, values: list[Any], value: Any) -> None:  # noqa: ANN401 - of any space
        """Append a copy, because many environments reuse their arrays."""
        copied = _copied(value)
        self._bytes += _size(copied)
        values.append(copied)

    def _finish(self) -> None:
        self._is_too_long = not self._is_within_limits
        self._last = {
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
