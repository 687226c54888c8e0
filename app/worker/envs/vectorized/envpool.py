"""EnvPool's environments as an SB3 `VecEnv`; for training only."""

import os
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from app.worker.envs.environments import make_env
from app.worker.envs.replayable import EpisodeSoFar
from app.worker.envs.vectorized.batch_vec_env import BatchVecEnv

_TIMED_STEPS = 200
_MIN_SPEEDUP = 1.15
"""The minimum speedup that justifies more cores: less may be noise, and others may need them."""


class PooledVecEnv(BatchVecEnv):
    """Environments that EnvPool steps in C++.

    The state of its random generators can't be read, so episodes can't be replayed.
    """

    def __init__(self, env_id: str, n_envs: int) -> None:
        """Make `n_envs` environments that use one core, or all if that is faster."""
        # Gymnasium's own spaces: models are saved with them and checked against them.
        original = make_env(env_id, {})
        super().__init__(n_envs, original.observation_space, original.action_space)
        original.close()
        self._env_id = env_id
        self.threads = fastest_threads(env_id, n_envs)
        self._pool: Any = None
        self._returns = np.zeros(n_envs)
        self._lengths = np.zeros(n_envs, dtype=np.int64)

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in each environment."""
        if self._pool is None or self._seeds[0] is not None:
            self._make_pool()
        self._reset_seeds()
        self._reset_options()
        self._returns[:], self._lengths[:] = 0.0, 0
        observations: NDArray[np.float32] = self._pool.reset()[0]
        return observations.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Step all environments, and reset those whose episode ended."""
        stepped, rewards, terminated, truncated, _ = self._pool.step(self._actions)
        observations, dones = stepped.copy(), terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        if np.count_nonzero(dones):
            ended = np.flatnonzero(dones)
            for index in ended.tolist():
                infos[index] = self._end_info(
                    float(self._returns[index]),
                    int(self._lengths[index]),
                    observations[index].copy(),
                    is_truncated=bool(truncated[index] and not terminated[index]),
                )
            observations[ended] = self._begin(ended)
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Close the pool."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _attribute(self, name: str, index: int) -> None:  # noqa: ARG002 - all environments are alike
        if name != "render_mode":
            raise AttributeError(f"Environments of EnvPool have no {name!r}.")

    def _reset_one(self, index: int, **_: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        return self._begin(np.array([index]))[0], {}

    def _current_episode(self, index: int) -> EpisodeSoFar:  # noqa: ARG002 - episodes can't be saved
        return EpisodeSoFar(None, None, [], None)

    def _replay_episode(self, index: int, episode: EpisodeSoFar) -> bool:  # noqa: ARG002 - not supported
        return False

    def _make_pool(self) -> None:
        self.close()
        seed = self._seeds[0]
        given = int.from_bytes(os.urandom(3)) if seed is None else seed % 2**31
        self._pool = _make(self._env_id, self.num_envs, self.threads, given)

    def _begin(self, which: NDArray[np.int64]) -> NDArray[np.float32]:
        """Begin an episode in some environments; return their first observations."""
        if self._pool is None:
            self.reset()
        self._returns[which], self._lengths[which] = 0.0, 0
        observations: NDArray[np.float32] = self._pool.reset(which)[0]
        return observations


def fastest_threads(env_id: str, n_envs: int) -> int:
    """Time steps on one core and on all available cores; return the faster number of threads."""
    cores = min(n_envs, len(os.sched_getaffinity(0)))
    if cores == 1:
        return 1
    one_core, all_cores = (_seconds(env_id, n_envs, threads) for threads in (1, cores))
    return cores if all_cores * _MIN_SPEEDUP < one_core else 1


def _seconds(env_id: str, n_envs: int, threads: int) -> float:
    """Return the duration of `_TIMED_STEPS` steps."""
    pool = _make(env_id, n_envs, threads, seed=0)
    pool.reset()
    actions = np.array([pool.action_space.sample() for _ in range(n_envs)])
    began = time.perf_counter()
    for _ in range(_TIMED_STEPS):
        pool.step(actions)
    took = time.perf_counter() - began
    pool.close()
    return took


def _make(env_id: str, n_envs: int, threads: int, seed: int) -> Any:  # noqa: ANN401 - EnvPool's
    import envpool

    with warnings.catch_warnings():
        # It warns that bounds are rounded to float32; Gymnasium's are used instead.
        warnings.simplefilter("ignore", UserWarning)
        pool = envpool.make_gymnasium(env_id, num_envs=n_envs, num_threads=threads, seed=seed)
        _ = pool.observation_space, pool.action_space
    return pool
