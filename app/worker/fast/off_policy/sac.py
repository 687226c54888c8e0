"""Soft Actor-Critic that acts and learns in NumPy."""

import numpy as np
from stable_baselines3 import SAC

from app.worker.fast.flat import Array
from app.worker.fast.off_policy.soft import FastSoft


class FastSAC(FastSoft, SAC):
    """SB3's SAC, and nothing of it different but the time it takes."""

    def _expect(self, outputs: Array) -> Array:
        """Believe the most careful critic."""
        careful: Array = np.minimum.reduce(outputs[:, 0])
        return careful

    def _compare(self, outputs: Array, aims: Array) -> tuple[Array, float]:
        errors = outputs - aims
        size = len(aims)
        loss = 0.5 * float(np.dot(errors.ravel(), errors.ravel())) / size
        errors *= np.float32(1 / size)
        return errors, loss

    def _judge(self, inputs: Array, height: int) -> tuple[Array, Array]:
        network = self.network.critics.online
        outputs = network.forward(inputs)
        values: Array = np.minimum.reduce(outputs[:, 0])
        chosen = outputs[:, 0].argmin(axis=0)
        slope = -1 / len(values)
        return network.pull_back_chosen(slope, chosen, slice(height, None)), values
