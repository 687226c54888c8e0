"""Actions of SAC and TQC: a Gaussian squashed by tanh to between -1 and 1."""

import math

import numpy as np

from app.worker.fast.flat import Array

_HALF_LOG_TAU = np.float32(0.5 * math.log(2 * math.pi))
_MIN_LOG_STD, _MAX_LOG_STD = np.float32(-20.0), np.float32(2.0)
_EPSILON = np.float32(1e-6)
"""Keeps the logarithm finite for actions at -1 and 1; as in SB3."""


class SquashedActions:
    """Actions sampled from an actor's outputs (means, then log standard deviations) and noise."""

    def __init__(self, outputs: Array, noise: Array) -> None:
        means, self._raw_log_stds = outputs[: len(noise)], outputs[len(noise) :]
        self._log_stds = np.clip(self._raw_log_stds, _MIN_LOG_STD, _MAX_LOG_STD)
        self._deviations = np.exp(self._log_stds)
        self._distances = self._deviations * noise
        unsquashed = means + self._distances
        self._noise = (unsquashed - means) / self._deviations
        self.values: Array = np.tanh(unsquashed)
        self._derivative = 1 - self.values * self.values

    def log_probs(self) -> Array:
        """Return the log-probability of each action."""
        each = np.float32(-0.5) * self._noise * self._noise
        each -= self._log_stds
        each -= np.log(self._derivative + _EPSILON)
        total: Array = np.add.reduce(each, axis=0)
        total -= np.float32(len(each)) * _HALF_LOG_TAU
        return total

    def gradients(self, action_gradients: Array, log_prob_gradient: np.float32) -> Array:
        """Return the gradients of the actor's outputs, given those of the actions.

        A mean shifts an action without changing the log-probability before squashing; squashing
        changes both, and more so the closer the action is to -1 or 1.
        """
        mean_gradients = self.values * np.float32(2 * log_prob_gradient)
        mean_gradients /= self._derivative + _EPSILON
        mean_gradients += action_gradients
        mean_gradients *= self._derivative
        log_std_gradients = mean_gradients * self._distances
        log_std_gradients -= log_prob_gradient
        log_std_gradients *= self._raw_log_stds == self._log_stds
        return np.concatenate([mean_gradients, log_std_gradients])
