"""Actions of SAC and TQC: normally distributed numbers, bent into the range from -1 to 1."""

import math

import numpy as np

from app.worker.fast.flat import Array

_HALF_LOG_TAU = np.float32(0.5 * math.log(2 * math.pi))
_LEAST_LOG_STD, _MOST_LOG_STD = np.float32(-20.0), np.float32(2.0)
_EPSILON = np.float32(1e-6)
"""Keeps the logarithm finite where an action is at the end of its range; SB3 has the same."""


class SquashedActions:
    """What was chosen, given a network's outputs (means, then deviations) and normal noise."""

    def __init__(self, outputs: Array, noise: Array) -> None:
        means, self._raw_log_stds = outputs[: len(noise)], outputs[len(noise) :]
        self._log_stds = np.clip(self._raw_log_stds, _LEAST_LOG_STD, _MOST_LOG_STD)
        self._deviations = np.exp(self._log_stds)
        self._distances = self._deviations * noise
        unbent = means + self._distances
        self._noise = (unbent - means) / self._deviations
        self.values: Array = np.tanh(unbent)
        self._steepness = 1 - self.values * self.values

    def log_probs(self) -> Array:
        """Return how likely each choice was, as a logarithm."""
        each = np.float32(-0.5) * self._noise * self._noise
        each -= self._log_stds
        each -= np.log(self._steepness + _EPSILON)
        total: Array = np.add.reduce(each, axis=0)
        total -= np.float32(len(each)) * _HALF_LOG_TAU
        return total

    def slopes(self, of_values: Array, of_log_probs: np.float32) -> Array:
        """Return how a loss depends on the outputs, given how it depends on what came of them.

        A mean moves a choice without making it more or less likely; but in the bent range both
        change, the more the nearer it is to the end.
        """
        of_unbent = self.values * np.float32(2 * of_log_probs)
        of_unbent /= self._steepness + _EPSILON
        of_unbent += of_values
        of_unbent *= self._steepness
        of_log_stds = of_unbent * self._distances
        of_log_stds -= of_log_probs
        of_log_stds *= self._raw_log_stds == self._log_stds
        return np.concatenate([of_unbent, of_log_stds])
