"""Advantage Actor-Critic whose updates run in NumPy."""

import numpy as np
from stable_baselines3 import A2C

from app.worker.fast.model import flush_denormals
from app.worker.fast.on_policy.algorithm import FastOnPolicy
from app.worker.fast.on_policy.experience import Experience, normalized


class FastA2C(FastOnPolicy, A2C):
    """SB3's A2C, computed by the fast engine."""

    @flush_denormals()
    def train(self) -> None:
        """Do one gradient step on the last rollout."""
        self._update_learning_rate(self.policy.optimizer)
        network = self.network
        steps = Experience.of(self.rollout_buffer, network.actions)
        size = len(steps)
        advantages = steps["advantages"]
        if self.normalize_advantage:
            advantages = normalized(advantages)
        outputs, values = network.forward(steps["observations"])
        log_probs, entropy = network.actions.evaluate(outputs, steps["actions"])
        errors = values - steps["returns"]
        output_gradients = network.actions.gradients(
            advantages * np.float32(-1 / size), -self.ent_coef / size
        )
        network.backward(output_gradients, errors * np.float32(2 * self.vf_coef / size))
        norm = network.optimizer.step(self.max_grad_norm)
        if self.after_gradient_step is not None:
            self.after_gradient_step(norm)
        self._n_updates += 1
        self._log(
            {
                "entropy_loss": -float(entropy.mean()),
                "policy_loss": -float(np.dot(advantages, log_probs)) / size,
                "value_loss": float(np.dot(errors, errors)) / size,
            }
        )
