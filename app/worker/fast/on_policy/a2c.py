"""Advantage Actor-Critic whose updates run in NumPy."""

import numpy as np
from stable_baselines3 import A2C
from stable_baselines3.common.utils import explained_variance

from app.worker.fast.model import tiny_is_zero
from app.worker.fast.on_policy.algorithm import FastOnPolicy
from app.worker.fast.on_policy.experience import Experience, normalized


class FastA2C(FastOnPolicy, A2C):
    """SB3's A2C, and nothing of it different but the time it takes."""

    @tiny_is_zero()
    def train(self) -> None:
        """Learn once from the last rollout."""
        self._update_learning_rate(self.policy.optimizer)
        network = self.network
        steps = Experience.of(self.rollout_buffer, network.actions)
        size = len(steps)
        advantages = steps.advantages
        if self.normalize_advantage:
            advantages = normalized(advantages)
        outputs, values = network.forward(steps.observations)
        log_probs, entropy = network.actions.judge(outputs, steps.actions)
        errors = values - steps.returns
        of_outputs = network.actions.slopes(
            advantages * np.float32(-1 / size), -self.ent_coef / size
        )
        network.backward(of_outputs, errors * np.float32(2 * self.vf_coef / size))
        length = network.optimizer.step(self.max_grad_norm)
        if self.after_gradient_step is not None:
            self.after_gradient_step(length)
        self._n_updates += 1
        self._log(
            {
                "entropy_loss": -float(entropy.mean()),
                "policy_loss": -float(np.dot(advantages, log_probs)) / size,
                "value_loss": float(np.dot(errors, errors)) / size,
            }
        )

    def _log(self, losses: dict[str, float]) -> None:
        buffer, record = self.rollout_buffer, self.logger.record
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        record("train/explained_variance", explained)
        for name, value in losses.items():
            record(f"train/{name}", value)
        if hasattr(self.policy, "log_std"):
            record("train/std", float(np.exp(self.policy.log_std.detach().numpy()).mean()))
