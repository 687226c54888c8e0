"""Deep Q-Networks that act and learn in NumPy."""

from typing import Any

import numpy as np
import numpy.typing as npt
from stable_baselines3 import DQN
from stable_baselines3.common.noise import ActionNoise

from app.worker.fast.model import tiny_is_zero
from app.worker.fast.off_policy.algorithm import FastOffPolicy
from app.worker.fast.off_policy.q_network import QNetworks
from app.worker.fast.off_policy.replay import Memories, draw


class FastDQN(FastOffPolicy[QNetworks], DQN):
    """SB3's DQN, and nothing of it different but the time it takes."""

    def _adopt_network(self) -> QNetworks:
        return QNetworks(self.policy)

    def _sample_action(
        self,
        learning_starts: int,
        action_noise: ActionNoise | None = None,  # noqa: ARG002 - SB3's DQN has none
        n_envs: int = 1,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Choose at random now and then; return the actions as played and as remembered."""
        if self.num_timesteps < learning_starts or np.random.rand() < self.exploration_rate:
            actions = np.array([self.action_space.sample() for _ in range(n_envs)])
        else:
            observed: Any = self._last_obs
            actions = self.network.best(observed)
        return actions, actions

    def _on_step(self) -> None:
        self._n_calls += 1
        if self._n_calls % max(self.target_update_interval // self.n_envs, 1) == 0:
            self.network.follow(self.tau)
        self.exploration_rate = self.exploration_schedule(self._current_progress_remaining)
        self.logger.record("rollout/exploration_rate", self.exploration_rate)

    @tiny_is_zero()
    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Learn from past steps so many times."""
        self._update_learning_rate(self.policy.optimizer)
        assert self.replay_buffer is not None
        losses = []
        for _ in range(gradient_steps):
            drawn = draw(self.replay_buffer, batch_size, self.gamma, self._vec_normalize_env)
            losses.append(self._learn(drawn))
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", np.mean(losses))

    def _learn(self, drawn: Memories) -> float:
        """Do one gradient step; return the loss before it."""
        network, size = self.network, len(drawn.rewards)
        aims = drawn.rewards + drawn.discounts * network.expected(drawn.next_observations)
        outputs = network.online.forward(network.encode(drawn.observations))
        chosen = (drawn.actions[:, 0], np.arange(size))
        errors = outputs[chosen] - aims
        # The slope of Huber's loss, which is `bounded * (errors - bounded / 2)`.
        bounded = np.minimum(np.maximum(errors, -1.0), 1.0)
        slopes = np.zeros_like(outputs)
        slopes[chosen] = bounded * np.float32(1 / size)
        network.online.backward(slopes)
        length = network.optimizer.step(self.max_grad_norm)
        if self.after_gradient_step is not None:
            self.after_gradient_step(length)
        return float(np.dot(bounded, errors - bounded * np.float32(0.5))) / size
