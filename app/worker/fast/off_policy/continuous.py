"""The base class of the fast engine's off-policy algorithms for continuous actions."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.noise import ActionNoise

from app.worker.fast.flat import Array
from app.worker.fast.model import NetworkT
from app.worker.fast.off_policy.algorithm import FastOffPolicy


class FastContinuous(FastOffPolicy[NetworkT]):
    """Acts between -1 and 1, as stored in the replay buffer, and rescales for environments."""

    def _policy_actions(self, observations: npt.NDArray[Any]) -> Array:
        """Return the policy's actions, one column per observation."""
        raise NotImplementedError

    def _sample_action(
        self, learning_starts: int, action_noise: ActionNoise | None = None, n_envs: int = 1
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Act, randomly before `learning_starts`; return the environments' and buffer's actions."""
        if self.num_timesteps < learning_starts:
            unscaled = np.array([self.action_space.sample() for _ in range(n_envs)])
            actions = self.policy.scale_action(unscaled)
        else:
            observations: Any = self._last_obs
            shape = (n_envs, *(self.action_space.shape or ()))
            actions = self._policy_actions(observations).T.reshape(shape)
        if action_noise is not None:
            actions = np.clip(actions + action_noise(), -1, 1)
        return self.policy.unscale_action(actions), actions

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        policy: Any = self.policy
        return [policy.actor.optimizer, policy.critic.optimizer]
