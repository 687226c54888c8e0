"""Bring an environment back to where it was, by playing its episode again."""

from dataclasses import dataclass
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np


@dataclass(frozen=True, slots=True)
class EpisodeSoFar:
    """How an episode began and what was done in it."""

    seed: int | None
    random_state: Any
    """The state of the environment's generator before a reset without a seed."""
    actions: list[Any]


class Replayable(gym.Wrapper[Any, Any, Any, Any]):
    """Remembers how the current episode came about.

    Most simulations can't be saved (LunarLander's world is a C++ object), but all that are
    worth training on repeat themselves: the same random state and actions lead to the same place.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._seed: int | None = None
        self._random_state: Any = None
        self._actions: list[Any] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and note how."""
        self._seed = seed
        self._random_state = None if seed is not None else self._generator.state
        self._actions = []
        return self.env.reset(seed=seed, options=options)

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act and note it."""
        self._actions.append(np.array(action))
        return self.env.step(action)

    def so_far(self) -> EpisodeSoFar:
        """Return how the current episode came about."""
        return EpisodeSoFar(self._seed, self._random_state, list(self._actions))

    def bring_back(self, episode: EpisodeSoFar) -> Any:  # noqa: ANN401 - whatever is observed
        """Play an episode up to where it was and return what is observed there."""
        if episode.seed is None:
            self._generator.state = episode.random_state
        observation, _ = self.reset(seed=episode.seed)
        for action in episode.actions:
            observation, _, terminated, truncated, _ = self.step(action)
            if terminated or truncated:
                # It went elsewhere; the caller sees that by what is observed.
                break
        return observation

    @property
    def _generator(self) -> Any:  # noqa: ANN401 - NumPy has several kinds
        return self.unwrapped.np_random.bit_generator
