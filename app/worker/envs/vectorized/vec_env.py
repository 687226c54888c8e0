"""Copies of an environment that are stepped by one call, and otherwise are what SB3 knows."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from app.worker.envs.replayable import EpisodeSoFar
from app.worker.envs.vectorized.episode_log import EpisodeLog
from app.worker.envs.vectorized.world import Numbers, World


@dataclass(frozen=True, slots=True)
class _Beginning:
    """Where the randomness of a copy's episode came from: a seed, or its generator's state."""

    seed: int | None
    random_state: Any


class ArrayVecEnv(VecEnv):
    """What a DummyVecEnv of environments with Monitor and Replayable is, bit for bit."""

    def __init__(self, world: World, n_envs: int, episode_limit: int) -> None:
        """Make `n_envs` copies whose episodes are cut after `episode_limit` steps."""
        self._world = world
        super().__init__(n_envs, world.env.observation_space, world.env.action_space)
        self._made_at = time.time()
        self._limit = episode_limit
        self._generators = [seeding.np_random()[0] for _ in range(n_envs)]
        self._beginnings = [_Beginning(None, None)] * n_envs
        self._lengths = np.zeros(n_envs, dtype=np.int64)
        self._state: Numbers = np.zeros((0, n_envs))
        self._observed = np.zeros((n_envs, *world.env.observation_space.shape), dtype=np.float32)
        self._log = EpisodeLog(episode_limit, n_envs, self.action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in each copy."""
        for index in range(self.num_envs):
            self._begin(index, seed=self._seeds[index], options=self._options[index] or None)
        self._reset_seeds()
        self._reset_options()
        return self._observed.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions; of another type they would lead elsewhere than Gymnasium's.

        Raises:
            TypeError: if they aren't of the action space's type.
        """
        self._actions = actions.astype(self.action_space.dtype, casting="safe", copy=False)

    def step_wait(self) -> VecEnvStepReturn:
        """Move every copy, and begin anew those whose episode is over."""
        self._check_actions()
        self._state, rewards, terminated = self._world.step(self._state, self._actions)
        self._observed = self._world.observe(self._state)
        self._log.add(self._actions, rewards)
        self._lengths += 1
        dones = terminated | (self._lengths >= self._limit)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        if np.count_nonzero(dones):
            for index in np.flatnonzero(dones).tolist():
                infos[index] = self._ending(index, is_cut=not terminated[index])
                self._begin(index)
        return self._observed.copy(), rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Let go of Gymnasium's environment."""
        self._world.env.close()

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return what each copy has for itself, or else what all have in common."""
        which = self._get_indices(indices)
        match attr_name:
            case "np_random":
                return [self._generators[index] for index in which]
            case "state":
                return [self._state[:, index].copy() for index in which]
            case "rewards":
                return [self._log.rewards(int(self._lengths[index]), index) for index in which]
        return [getattr(self._world.env, attr_name) for _ in which]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:  # noqa: ANN401, ARG002 - SB3's
        """Refuse: what one copy is like, all are.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{attr_name!r} can't be set: the copies share one physics.")

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **named: Any
    ) -> list[Any]:
        """Call what Replayable offers for each copy.

        Raises:
            AttributeError: if it is something else.
        """
        methods: dict[str, Callable[..., Any]] = {
            "reset": self._reset_one,
            "so_far": self._so_far,
            "bring_back": self._bring_back,
        }
        if method_name not in methods:
            raise AttributeError(f"The copies have no method {method_name!r}.")
        which = self._get_indices(indices)
        return [methods[method_name](index, *method_args, **named) for index in which]

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return whether the copies do what a wrapper would: Monitor's statistics."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def _check_actions(self) -> None:
        if not isinstance(self.action_space, gym.spaces.Discrete):
            return
        # As unsigned numbers the negative ones are the largest.
        if np.count_nonzero(self._actions.view(np.uint64) >= self.action_space.n):
            raise ValueError(f"{self._actions} has actions that aren't in {self.action_space}.")

    def _begin(
        self, index: int, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Begin an episode as Gymnasium's environment does, lent the copy's generator."""
        env, generator = self._world.env, self._generators[index]
        random_state = None if seed is not None else generator.bit_generator.state
        self._beginnings[index] = _Beginning(seed, random_state)
        env.np_random = generator
        self._observed[index], self.reset_infos[index] = env.reset(seed=seed, options=options)
        self._generators[index] = env.np_random
        first = self._world.first_state()
        if not len(self._state):
            self._state = np.zeros((len(first), self.num_envs))
        self._state[:, index] = first
        self._lengths[index] = 0

    def _ending(self, index: int, *, is_cut: bool) -> dict[str, Any]:
        length = int(self._lengths[index])
        # Added up as Monitor does: from Python 3.12 on `sum` is more exact than adding one by one.
        episode = {
            "r": round(sum(self._log.rewards(length, index)), 6),
            "l": length,
            "t": round(time.time() - self._made_at, 6),
        }
        return {
            "episode": episode,
            "TimeLimit.truncated": is_cut,
            "terminal_observation": self._observed[index].copy(),
        }

    def _reset_one(self, index: int, **how: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self._begin(index, **how)
        return self._observed[index].copy(), self.reset_infos[index]

    def _so_far(self, index: int) -> EpisodeSoFar:
        begun = self._beginnings[index]
        actions = self._log.actions(int(self._lengths[index]), index)
        seen = self._observed[index].copy()
        return EpisodeSoFar(begun.seed, begun.random_state, actions, seen)

    def _bring_back(self, index: int, episode: EpisodeSoFar) -> bool:
        """Play a copy's episode up to where it was; return whether it is there again."""
        if episode.seed is None:
            self._generators[index].bit_generator.state = episode.random_state
        self._begin(index, seed=episode.seed)
        if len(episode.actions) >= self._limit:
            return False
        alone = self._state[:, [index]]
        rewards = []
        for action in episode.actions:
            alone, reward, terminated = self._world.step(alone, np.array([action]))
            rewards.append(reward[0])
            if terminated[0]:
                # It went elsewhere.
                return False
        if episode.actions:
            self._state[:, index] = alone[:, 0]
            self._observed[index] = self._world.observe(alone)[0]
            self._lengths[index] = len(episode.actions)
            self._log.rewrite(index, episode.actions, rewards)
        return np.array_equal(self._observed[index], episode.observation)
