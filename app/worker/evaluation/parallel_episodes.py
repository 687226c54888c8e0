"""Play episodes that nobody watches: many at once, with the same returns as one after another.

One call of the policy's network for all observations costs little more than for a single one.
"""

from collections.abc import Callable, Iterator
from math import ceil
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands
from app.worker.envs.environments import success_in
from app.worker.envs.vectorized.pipeline import (
    load_statistics,
    make_episode_envs,
    save_statistics,
)
from app.worker.envs.wrappers import Masked
from app.worker.evaluation.player import FinishedEpisode, act

_MOST_AT_ONCE = 25
"""Number of episodes that are played at the same time; each needs an environment."""


class ParallelEpisodes:
    """Plays the episodes of one deterministic policy, all with the same statistics."""

    def __init__(self, setup: commands.Setup, model: BaseAlgorithm, *, disturbed: bool) -> None:
        self._model = model
        self._make: Callable[[int], VecEnv] = lambda count: make_episode_envs(
            setup, count, disturbed=disturbed
        )
        self._envs: VecEnv | None = None

    def play(self, count: int, *, seed: int, observed_by: VecEnv) -> Iterator[FinishedEpisode]:
        """Yield episodes in the order of their seeds, which count up from `seed`.

        Observations are normalized with the statistics of `observed_by`.
        """
        waves = ceil(count / _MOST_AT_ONCE)
        at_once = ceil(count / waves)
        envs = self._environments(at_once)
        load_statistics(envs, save_statistics(observed_by))
        for first in range(0, count, at_once):
            wave = self._play_wave(envs, seed + first)
            yield from wave[: count - first]

    def close(self) -> None:
        """Close the environments."""
        if self._envs is not None:
            self._envs.close()
            self._envs = None

    def _environments(self, count: int) -> VecEnv:
        if self._envs is None or self._envs.num_envs != count:
            self.close()
            self._envs = self._make(count)
        return self._envs

    def _play_wave(self, envs: VecEnv, seed: int) -> list[FinishedEpisode]:
        """Play an episode in each environment."""
        envs.seed(seed)
        observations = envs.reset()
        has_masks = any(envs.env_is_wrapped(Masked))
        returns, lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=int)
        finished: list[FinishedEpisode | None] = [None] * envs.num_envs
        while None in finished:
            masks = np.stack(envs.env_method("action_masks")) if has_masks else None
            actions, _ = act(self._model, observations, masks, deterministic=True)
            observations, rewards, dones, infos = envs.step(actions)
            is_playing = np.array([one is None for one in finished])
            # Each on its own, in the order of the steps: a sum in another order has other digits.
            returns[is_playing] += np.asarray(rewards, dtype=np.float64)[is_playing]
            lengths[is_playing] += 1
            for index in np.flatnonzero(dones & is_playing).tolist():
                finished[index] = _finished(returns[index], lengths[index], infos[index])
        return [one for one in finished if one is not None]


def _finished(total: float, length: int, info: dict[str, Any]) -> FinishedEpisode:
    return FinishedEpisode(
        return_=float(total),
        length=int(length),
        truncated=bool(info.get("TimeLimit.truncated", False)),
        is_success=success_in(info),
    )
