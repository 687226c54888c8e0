"""Restore an environment's state by replaying its current episode."""

import time
from dataclasses import dataclass
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from stable_baselines3.common.env_util import is_wrapped, unwrap_wrapper
from stable_baselines3.common.monitor import Monitor

from app.worker.envs.atari import WholeGames

_MAX_ACTIONS = 20_000
"""Longer episodes are not replayed; a new one begins."""


@dataclass(frozen=True, slots=True)
class EpisodeSoFar:
    """The start of an episode and its actions so far."""

    seed: int | None
    random_state: Any
    """The state of the environment's random generator before a reset without a seed."""
    actions: list[Any]
    observation: Any
    """The last observation."""
    snapshot: dict[str, Any] | None = None
    """The state of a simulation that can be saved; there is no need to replay it."""


class Replayable(gym.Wrapper[Any, Any, Any, Any]):
    """Records the current episode for a replay, and reports its return when it ends.

    Most simulations, except Atari games, can't be saved (LunarLander's world is a C++ object), but
    nearly all are deterministic: the same random state and actions lead to the same state.
    """

    _must_replay = False
    """Whether only a replay restores the state, even if the simulation can be saved."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        game = unwrap_wrapper(env, WholeGames)
        self._game = game if isinstance(game, WholeGames) else None
        # A lost life splits the episodes of games, which report whole games themselves.
        self._reports_episodes = self._game is None and not is_wrapped(env, Monitor)
        self._return, self._length = 0.0, 0
        self._made_at = time.time()
        self._seed: int | None = None
        self._random_state: Any = None
        self._actions: list[Any] = []
        self._observation: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode and record its seed or random state."""
        self._seed = seed
        self._random_state = None if seed is not None else self._generator.state
        self._actions = []
        self._return, self._length = 0.0, 0
        self._observation, info = self.env.reset(seed=seed, options=options)
        return self._observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - any action
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act and record the action."""
        if len(self._actions) <= _MAX_ACTIONS:
            # The caller may reuse its array; scalars need no copy.
            self._actions.append(action.copy() if isinstance(action, np.ndarray) else action)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._observation = observation
        self._return += float(reward)
        self._length += 1
        if self._reports_episodes and (terminated or truncated):
            info = {**info, "episode": self._episode()}
        return observation, reward, terminated, truncated, info

    def _episode(self) -> dict[str, float | int]:
        """Return the episode's statistics in the format of SB3's `Monitor`."""
        seconds = round(time.time() - self._made_at, 6)
        return {"r": round(self._return, 6), "l": self._length, "t": seconds}

    def current_episode(self) -> EpisodeSoFar:
        """Return the current episode, for `replay_episode`."""
        return EpisodeSoFar(
            self._seed,
            self._random_state,
            list(self._actions),
            self._observation,
            None if self._game is None else self._game.snapshot(),
        )

    def replay_episode(self, episode: EpisodeSoFar) -> bool:
        """Replay an episode; return whether it leads to the same observation."""
        if self._game is not None and episode.snapshot is not None and not self._must_replay:
            self._game.restore(episode.snapshot)
            self._seed, self._random_state = episode.seed, episode.random_state
            self._actions, self._observation = list(episode.actions), episode.observation
            return True
        if len(episode.actions) > _MAX_ACTIONS:
            return False
        if episode.seed is None:
            self._generator.state = episode.random_state
        self.reset(seed=episode.seed)
        for action in episode.actions:
            _, _, terminated, truncated, _ = self.step(action)
            if terminated or truncated:
                # The replay diverged.
                return False
        return _is_same(self._observation, episode.observation)

    @property
    def _generator(self) -> Any:  # noqa: ANN401 - NumPy has several classes
        return self.unwrapped.np_random.bit_generator


def _is_same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any observation
    if isinstance(one, dict):
        return all(np.array_equal(one[name], other[name]) for name in one)
    return np.array_equal(one, other)
