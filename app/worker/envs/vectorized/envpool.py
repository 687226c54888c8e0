"""Environments of EnvPool as SB3 knows environments; for training only."""

import os
import time
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from app.worker.envs.environments import make_env
from app.worker.envs.replayable import EpisodeSoFar

_TRIED_STEPS = 200
_WORTH_IT = 1.15
"""How much faster a second core must make it: less is noise, and others may want that core."""


class PooledVecEnv(VecEnv):
    """Copies of an environment, stepped by EnvPool in C++.

    Its random numbers are its own, so an episode can't be brought back in another process.
    """

    def __init__(self, env_id: str, n_envs: int) -> None:
        """Make `n_envs` copies, on as many cores as are worth it."""
        # Gymnasium's own spaces, which a model is saved with and checked against.
        original = make_env(env_id, {})
        super().__init__(n_envs, original.observation_space, original.action_space)
        original.close()
        self._env_id = env_id
        self.threads = fastest_threads(env_id, n_envs)
        self._pool: Any = None
        self._made_at = time.time()
        self._returns = np.zeros(n_envs)
        self._lengths = np.zeros(n_envs, dtype=np.int64)

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in each copy."""
        if self._pool is None or self._seeds[0] is not None:
            self._make_pool()
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0.0, 0
        observed: NDArray[np.float32] = self._pool.reset()[0]
        return observed.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Take the actions."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Move every copy, and begin anew those whose episode is over."""
        seen, rewards, terminated, truncated, _ = self._pool.step(self._actions)
        observed, dones = seen.copy(), terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        if np.count_nonzero(dones):
            over = np.flatnonzero(dones)
            for index in over.tolist():
                is_cut = bool(truncated[index] and not terminated[index])
                infos[index] = self._ending(index, observed[index].copy(), is_cut=is_cut)
            observed[over] = self._begin(over)
        return observed, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Let go of the pool."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return what the copies have in common.

        Raises:
            AttributeError: if it is something else than what SB3 asks for.
        """
        if attr_name != "render_mode":
            raise AttributeError(f"Environments of EnvPool have no {attr_name!r}.")
        return [None for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:  # noqa: ANN401, ARG002 - SB3's
        """Refuse: nothing can be set.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{attr_name!r} of an environment of EnvPool can't be set.")

    def env_method(
        self, method_name: str, *_: Any, indices: VecEnvIndices = None, **__: Any
    ) -> list[Any]:
        """Answer what a checkpoint asks of each copy: nothing of its episode can be kept.

        Raises:
            AttributeError: if it is something else.
        """
        which = list(self._get_indices(indices))
        match method_name:
            case "so_far":
                return [EpisodeSoFar(None, None, [], None) for _ in which]
            case "bring_back":
                return [False for _ in which]
            case "reset":
                return [(self._begin(np.array([index]))[0], {}) for index in which]
        raise AttributeError(f"Environments of EnvPool have no method {method_name!r}.")

    def env_is_wrapped(
        self, wrapper_class: type[gym.Wrapper[Any, Any, Any, Any]], indices: VecEnvIndices = None
    ) -> list[bool]:
        """Return whether the copies do what a wrapper would: Monitor's statistics."""
        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def _make_pool(self) -> None:
        self.close()
        seed = self._seeds[0]
        given = int.from_bytes(os.urandom(3)) if seed is None else seed % 2**31
        self._pool = _make(self._env_id, self.num_envs, self.threads, given)

    def _begin(self, which: NDArray[np.int64]) -> NDArray[np.float32]:
        """Begin an episode in some copies; return what is seen first."""
        if self._pool is None:
            self.reset()
        self._returns[which], self._lengths[which] = 0.0, 0
        observed: NDArray[np.float32] = self._pool.reset(which)[0]
        return observed

    def _ending(self, index: int, observed: NDArray[np.float32], *, is_cut: bool) -> dict[str, Any]:
        episode = {
            "r": round(float(self._returns[index]), 6),
            "l": int(self._lengths[index]),
            "t": round(time.time() - self._made_at, 6),
        }
        return {
            "episode": episode,
            "TimeLimit.truncated": is_cut,
            "terminal_observation": observed,
        }


def fastest_threads(env_id: str, n_envs: int) -> int:
    """Try one core and all that this process may use; return what is faster."""
    cores = min(n_envs, len(os.sched_getaffinity(0)))
    if cores == 1:
        return 1
    alone, together = (_seconds(env_id, n_envs, threads) for threads in (1, cores))
    return cores if together * _WORTH_IT < alone else 1


def _seconds(env_id: str, n_envs: int, threads: int) -> float:
    """Return how long some steps take."""
    pool = _make(env_id, n_envs, threads, seed=0)
    pool.reset()
    actions = np.array([pool.action_space.sample() for _ in range(n_envs)])
    began = time.perf_counter()
    for _ in range(_TRIED_STEPS):
        pool.step(actions)
    took = time.perf_counter() - began
    pool.close()
    return took


def _make(env_id: str, n_envs: int, threads: int, seed: int) -> Any:  # noqa: ANN401 - EnvPool's
    import envpool

    with warnings.catch_warnings():
        # That its bounds are rounded to float32: they are not the ones that are used.
        warnings.simplefilter("ignore", UserWarning)
        pool = envpool.make_gymnasium(env_id, num_envs=n_envs, num_threads=threads, seed=seed)
        _ = pool.observation_space, pool.action_space
    return pool
