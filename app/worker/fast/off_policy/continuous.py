"""What the fast engine's algorithms with a memory and continuous actions share: how they act."""

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.noise import ActionNoise

from app.worker.fast.flat import Array
from app.worker.fast.model import NetworkT
from app.worker.fast.off_policy.algorithm import FastOffPolicy


class FastContinuous(FastOffPolicy[NetworkT]):
    """Chooses actions from -1 to 1, which SB3 remembers, and stretches them for environments."""

    def _choose(self, observed: npt.NDArray[Any]) -> Array:
        """Return what the policy does in each observation, a column each."""
        raise NotImplementedError

    def _sample_action(
        self, learning_starts: int, action_noise: ActionNoise | None = None, n_envs: int = 1
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Choose at random at first; return the actions as played and as remembered."""
        if self.num_timesteps < learning_starts:
            played = np.array([self.action_space.sample() for _ in range(n_envs)])
            chosen = self.policy.scale_action(played)
        else:
            observed: Any = self._last_obs
            chosen = self._choose(observed).T.reshape(n_envs, *(self.action_space.shape or ()))
        if action_noise is not None:
            chosen = np.clip(chosen + action_noise(), -1, 1)
        return self.policy.unscale_action(chosen), chosen
