"""Soft Actor-Critic that acts and learns in NumPy."""

import numpy as np
from stable_baselines3 import SAC

from app.worker.fast.flat import Array
from app.worker.fast.off_policy.soft import FastSoft


class FastSAC(FastSoft, SAC):
    """SB3's SAC, computed by the fast engine."""

    def _next_values(self, outputs: Array) -> Array:
        lowest: Array = np.minimum.reduce(outputs[:, 0])
        return lowest

    def _critic_gradients(self, outputs: Array, targets: Array) -> tuple[Array, float]:
        errors = outputs - targets
        size = len(targets)
        loss = 0.5 * float(np.dot(errors.ravel(), errors.ravel())) / size
        errors *= np.float32(1 / size)
        return errors, loss

    def _action_gradients(self, inputs: Array, obs_size: int) -> tuple[Array, Array]:
        critics = self.network.critics.online
        outputs = critics.forward(inputs)
        values: Array = np.minimum.reduce(outputs[:, 0])
        lowest = outputs[:, 0].argmin(axis=0)
        gradient = -1 / len(values)
        return critics.input_gradients_of_chosen(gradient, lowest, slice(obs_size, None)), values
