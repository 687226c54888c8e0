"""An SB3 `VecEnv` whose environments are stepped together with array operations."""

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from app.worker.envs.replayable import EpisodeSoFar
from app.worker.envs.vectorized.batch_vec_env import BatchVecEnv
from app.worker.envs.vectorized.dynamics import Dynamics, Numbers
from app.worker.envs.vectorized.episode_log import EpisodeLog


@dataclass(frozen=True, slots=True)
class _EpisodeStart:
    """The source of an episode's randomness: a seed, or the generator's state."""

    seed: int | None
    random_state: Any


class ArrayVecEnv(BatchVecEnv):
    """Bit-identical to a DummyVecEnv of environments with Monitor and Replayable."""

    def __init__(self, dynamics: Dynamics, n_envs: int, episode_limit: int) -> None:
        """Make `n_envs` environments whose episodes are truncated after `episode_limit` steps."""
        self._dynamics = dynamics
        super().__init__(n_envs, dynamics.env.observation_space, dynamics.env.action_space)
        self._limit = episode_limit
        self._generators = [seeding.np_random()[0] for _ in range(n_envs)]
        self._starts = [_EpisodeStart(None, None)] * n_envs
        self._lengths = np.zeros(n_envs, dtype=np.int64)
        self._state: Numbers = np.zeros((0, n_envs))
        self._observations = np.zeros(
            (n_envs, *dynamics.env.observation_space.shape), dtype=np.float32
        )
        self._log = EpisodeLog(episode_limit, n_envs, self.action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in each environment."""
        for index in range(self.num_envs):
            self._begin(index, seed=self._seeds[index], options=self._options[index] or None)
        self._reset_seeds()
        self._reset_options()
        return self._observations.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions; with another dtype, results would differ from Gymnasium's.

        Raises:
            TypeError: if the actions can't be cast safely to the action space's dtype.
        """
        self._actions = actions.astype(self.action_space.dtype, casting="safe", copy=False)

    def step_wait(self) -> VecEnvStepReturn:
        """Step all environments, and reset those whose episode ended."""
        self._check_actions()
        self._state, rewards, terminated = self._dynamics.step(self._state, self._actions)
        self._observations = self._dynamics.observe(self._state)
        self._log.add(self._actions, rewards)
        self._lengths += 1
        dones = terminated | (self._lengths >= self._limit)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        if np.count_nonzero(dones):
            for index in np.flatnonzero(dones).tolist():
                # Like Monitor: since Python 3.12 `sum` is more exact than a running total.
                episode_return = sum(self._log.rewards(int(self._lengths[index]), index))
                infos[index] = self._end_info(
                    episode_return,
                    int(self._lengths[index]),
                    self._observations[index].copy(),
                    is_truncated=not terminated[index],
                )
                self._begin(index)
        return self._observations.copy(), rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Close Gymnasium's environment."""
        self._dynamics.env.close()

    def _attribute(self, name: str, index: int) -> Any:  # noqa: ANN401 - any attribute
        match name:
            case "np_random":
                return self._generators[index]
            case "state":
                return self._state[:, index].copy()
            case "rewards":
                return self._log.rewards(int(self._lengths[index]), index)
        return getattr(self._dynamics.env, name)

    def _check_actions(self) -> None:
        if not isinstance(self.action_space, gym.spaces.Discrete):
            return
        # Viewed as unsigned integers, negative actions are too large as well.
        if np.count_nonzero(self._actions.view(np.uint64) >= self.action_space.n):
            raise ValueError(f"{self._actions} has actions that aren't in {self.action_space}.")

    def _begin(
        self, index: int, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Begin an episode with Gymnasium's environment and this environment's generator."""
        env, generator = self._dynamics.env, self._generators[index]
        random_state = None if seed is not None else generator.bit_generator.state
        self._starts[index] = _EpisodeStart(seed, random_state)
        env.np_random = generator
        self._observations[index], self.reset_infos[index] = env.reset(seed=seed, options=options)
        self._generators[index] = env.np_random
        first = self._dynamics.env.state
        if not len(self._state):
            self._state = np.zeros((len(first), self.num_envs))
        self._state[:, index] = first
        self._lengths[index] = 0

    def _reset_one(self, index: int, **options: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self._begin(index, **options)
        return self._observations[index].copy(), self.reset_infos[index]

    def _current_episode(self, index: int) -> EpisodeSoFar:
        start = self._starts[index]
        actions = self._log.actions(int(self._lengths[index]), index)
        observation = self._observations[index].copy()
        return EpisodeSoFar(start.seed, start.random_state, actions, observation)

    def _replay_episode(self, index: int, episode: EpisodeSoFar) -> bool:
        """Replay an episode in one environment; return whether it leads to the same observation."""
        if episode.seed is None:
            self._generators[index].bit_generator.state = episode.random_state
        self._begin(index, seed=episode.seed)
        if len(episode.actions) >= self._limit:
            return False
        alone = self._state[:, [index]]
        rewards = []
        for action in episode.actions:
            alone, reward, terminated = self._dynamics.step(alone, np.array([action]))
            rewards.append(reward[0])
            if terminated[0]:
                # The replay diverged.
                return False
        if episode.actions:
            self._state[:, index] = alone[:, 0]
            self._observations[index] = self._dynamics.observe(alone)[0]
            self._lengths[index] = len(episode.actions)
            self._log.rewrite(index, episode.actions, rewards)
        return np.array_equal(self._observations[index], episode.observation)
