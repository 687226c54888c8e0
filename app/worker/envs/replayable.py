"""Bring an environment back to where it was, by playing its episode again."""

import time
from dataclasses import dataclass
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from stable_baselines3.common.env_util import is_wrapped
from stable_baselines3.common.monitor import Monitor

_MOST_ACTIONS = 20_000
"""A longer episode isn't worth playing again; it begins anew."""


@dataclass(frozen=True, slots=True)
class EpisodeSoFar:
    """How an episode began and what was done in it."""

    seed: int | None
    random_state: Any
    """The state of the environment's generator before a reset without a seed."""
    actions: list[Any]
    observation: Any
    """What was observed last."""


class Replayable(gym.Wrapper[Any, Any, Any, Any]):
    """Remembers how the current episode came about, and says what it was worth when it ends.

    Most simulations can't be saved (LunarLander's world is a C++ object), but all that are
    worth training on repeat themselves: the same random state and actions lead to the same place.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        # Where episodes are cut up or steps are put together, a Monitor further inside counts.
        self._counts = not is_wrapped(env, Monitor)
        self._return, self._length = 0.0, 0
        self._made_at = time.time()
        self._seed: int | None = None
        self._random_state: Any = None
        self._actions: list[Any] = []
        self._observation: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and note how."""
        self._seed = seed
        self._random_state = None if seed is not None else self._generator.state
        self._actions = []
        self._return, self._length = 0.0, 0
        self._observation, info = self.env.reset(seed=seed, options=options)
        return self._observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act and note it."""
        if len(self._actions) <= _MOST_ACTIONS:
            # The caller's array may be filled anew; a single number is passed on as it is.
            self._actions.append(action.copy() if isinstance(action, np.ndarray) else action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._observation = observation
        self._return += float(reward)
        self._length += 1
        if self._counts and (terminated or truncated):
            info = {**info, "episode": self._episode()}
        return observation, reward, terminated, truncated, info

    def _episode(self) -> dict[str, float | int]:
        """Return what SB3's `Monitor` would say of the episode."""
        seconds = round(time.time() - self._made_at, 6)
        return {"r": round(self._return, 6), "l": self._length, "t": seconds}

    def so_far(self) -> EpisodeSoFar:
        """Return how the current episode came about."""
        return EpisodeSoFar(self._seed, self._random_state, list(self._actions), self._observation)

    def bring_back(self, episode: EpisodeSoFar) -> bool:
        """Play an episode up to where it was; return whether it is there again."""
        if len(episode.actions) > _MOST_ACTIONS:
            return False
        if episode.seed is None:
            self._generator.state = episode.random_state
        self.reset(seed=episode.seed)
        for action in episode.actions:
            _, _, terminated, truncated, _ = self.step(action)
            if terminated or truncated:
                # It went elsewhere.
                return False
        return _is_same(self._observation, episode.observation)

    @property
    def _generator(self) -> Any:  # noqa: ANN401 - NumPy has several kinds
        return self.unwrapped.np_random.bit_generator


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401 - whatever is observed
    if isinstance(one, dict):
        return all(np.array_equal(one[name], other[name]) for name in one)
    return np.array_equal(one, other)
