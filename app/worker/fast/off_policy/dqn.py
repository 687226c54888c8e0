"""Deep Q-Networks that act and learn in NumPy."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.noise import ActionNoise

from app.worker.fast.off_policy.algorithm import FastOffPolicy, Losses
from app.worker.fast.off_policy.q_network import QNetworks
from app.worker.fast.off_policy.replay_buffer import Batch


class FastDQN(FastOffPolicy[QNetworks], DQN):
    """SB3's DQN, computed by the fast engine."""

    def _make_network(self) -> QNetworks:
        return QNetworks(self.policy)

    def _sample_action(
        self,
        learning_starts: int,
        action_noise: ActionNoise | None = None,  # noqa: ARG002 - SB3's DQN has none
        n_envs: int = 1,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Act epsilon-greedily; return the environments' and the buffer's actions."""
        if self.num_timesteps < learning_starts or np.random.rand() < self.exploration_rate:
            actions = np.array([self.action_space.sample() for _ in range(n_envs)])
        else:
            observations: Any = self._last_obs
            actions = self.network.greedy_actions(observations)
        return actions, actions

    def _on_step(self) -> None:
        self._n_calls += 1
        if self._n_calls % max(self.target_update_interval // self.n_envs, 1) == 0:
            self.network.update_target(self.tau)
        self.exploration_rate = self.exploration_schedule(self._current_progress_remaining)
        self.logger.record("rollout/exploration_rate", self.exploration_rate)

    def _optimizers(self) -> list[torch.optim.Optimizer]:
        return [self.policy.optimizer]

    def _learn(self, batch: Batch, step: int) -> tuple[Losses, float]:  # noqa: ARG002 - all steps are alike
        network, size = self.network, len(batch.rewards)
        targets = batch.rewards + batch.discounts * network.max_target_values(
            batch.next_observations
        )
        outputs = network.online.forward(network.encode(batch.observations))
        chosen = (batch.actions[:, 0], np.arange(size))
        errors = outputs[chosen] - targets
        # The derivative of the Huber loss, which is `clipped * (errors - clipped / 2)`.
        clipped = np.minimum(np.maximum(errors, -1.0), 1.0)
        gradients = np.zeros_like(outputs)
        gradients[chosen] = clipped * np.float32(1 / size)
        network.online.backward(gradients)
        norm = network.optimizer.step(self.max_grad_norm)
        return {"loss": float(np.dot(clipped, errors - clipped * np.float32(0.5))) / size}, norm
