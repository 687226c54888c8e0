"""Action distributions: sampling, log-probabilities, entropies and their gradients.

All randomness comes from NumPy's global generator, whose state is part of every checkpoint.
"""

import math
from functools import lru_cache
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.policies import ActorCriticPolicy

from app.worker.fast.flat import Array, FlatParameters

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)

Actions = npt.NDArray[Any]


class ActionDistribution(Protocol):
    """A distribution of actions; network outputs have one column per observation."""

    def noise(self, steps: int, envs: int) -> Array:
        """Sample the noise of a whole rollout."""

    def choose(self, outputs: Array, noise: Array) -> Actions:
        """Return sampled actions, one row per observation, as stored in a rollout buffer."""

    def for_envs(self, actions: Actions) -> Actions:
        """Convert sampled actions to what environments accept."""

    def prepare(self, actions: Actions) -> Actions:
        """Convert rows of a buffer to what `evaluate` accepts, still one row per observation."""

    def evaluate(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        """Return the log-probability of each action, and the entropy of each distribution."""

    def gradients(self, log_prob_gradients: Array, entropy_gradient: float) -> Array:
        """Return the gradients of the last evaluated outputs.

        Given are the gradient of each log-probability, and one gradient for all entropies.
        """


def action_distribution(
    policy: ActorCriticPolicy, parameters: FlatParameters
) -> ActionDistribution:
    """Return a policy's distribution; registers its standard deviation if it is a parameter."""
    match policy.action_space:
        case gym.spaces.Discrete() as space:
            return _Categorical([int(space.n)], is_single=True)
        case gym.spaces.MultiDiscrete() as space:
            return _Categorical(space.nvec.tolist())
        case gym.spaces.MultiBinary() as space:
            return _Bernoulli(int(np.prod(space.shape)))
        case gym.spaces.Box() as space:
            return _Gaussian(space, *parameters.register(policy.log_std))
    raise TypeError(f"The fast engine has no distribution for {policy.action_space}.")


class _Categorical:
    """One discrete action, or several per step."""

    def __init__(self, sizes: list[int], *, is_single: bool = False) -> None:
        self._height = sum(sizes)
        self._starts = np.cumsum([0, *sizes[:-1]])
        self._parts = [
            slice(start, start + size) for start, size in zip(self._starts, sizes, strict=True)
        ]
        self._is_single = is_single

    def noise(self, steps: int, envs: int) -> Array:
        exponential = np.random.standard_exponential((steps, self._height, envs))
        return (-np.log(exponential)).astype(np.float32)

    def choose(self, outputs: Array, noise: Array) -> Actions:
        # The Gumbel-max trick: the argmax of logits plus Gumbel noise is a categorical sample.
        outputs += noise
        chosen = np.empty((outputs.shape[1], len(self._parts)), np.int64)
        for n, part in enumerate(self._parts):
            outputs[part].argmax(axis=0, out=chosen[:, n])
        return chosen

    def for_envs(self, actions: Actions) -> Actions:
        played: Actions = actions[:, 0] if self._is_single else actions
        return played

    def prepare(self, actions: Actions) -> Actions:
        rows: Actions = actions.astype(np.int64) + self._starts
        return rows

    def evaluate(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        self._logs = outputs
        self._probabilities = np.empty_like(outputs)
        # Contiguous, so that sums over many sub-actions round alike whatever made the array.
        self._chosen = (np.ascontiguousarray(actions.T), _column_indices(outputs.shape[1]))
        self._entropies = [self._softmax(part) for part in self._parts]
        log_prob = np.add.reduce(self._logs[self._chosen], axis=0)
        return log_prob, sum(self._entropies[1:], self._entropies[0])

    def _softmax(self, part: slice) -> Array:
        """Compute one action's probabilities and their logarithms; return the entropy."""
        logs, probabilities = self._logs[part], self._probabilities[part]
        logs -= np.maximum.reduce(logs, axis=0)
        np.exp(logs, out=probabilities)
        total = np.add.reduce(probabilities, axis=0)
        probabilities /= total
        logs -= np.log(total)
        entropy: Array = -np.add.reduce(probabilities * logs, axis=0)
        return entropy

    def gradients(self, log_prob_gradients: Array, entropy_gradient: float) -> Array:
        result: Array = self._probabilities * -log_prob_gradients
        result[self._chosen] += log_prob_gradients
        if entropy_gradient:
            for part, entropy in zip(self._parts, self._entropies, strict=True):
                logit_gradients = self._logs[part] + entropy
                logit_gradients *= self._probabilities[part]
                logit_gradients *= np.float32(entropy_gradient)
                result[part] -= logit_gradients
        return result


@lru_cache(maxsize=16)
def _column_indices(count: int) -> npt.NDArray[np.int64]:
    return np.arange(count)


class _Bernoulli:
    """Several binary actions per step."""

    def __init__(self, size: int) -> None:
        self._height = size

    def noise(self, steps: int, envs: int) -> Array:
        return np.random.logistic(size=(steps, self._height, envs)).astype(np.float32)

    def choose(self, outputs: Array, noise: Array) -> Actions:
        outputs += noise
        return (outputs > 0).T.astype(np.int8)

    def for_envs(self, actions: Actions) -> Actions:
        return actions

    def prepare(self, actions: Actions) -> Actions:
        return actions.astype(np.float32)

    def evaluate(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        self._outputs = outputs
        self._probabilities: Array = np.reciprocal(1 + np.exp(-outputs))
        self._chosen = actions = actions.T
        softplus = np.logaddexp(np.float32(0), outputs)
        log_prob = np.add.reduce(actions * outputs - softplus, axis=0)
        return log_prob, np.add.reduce(softplus - outputs * self._probabilities, axis=0)

    def gradients(self, log_prob_gradients: Array, entropy_gradient: float) -> Array:
        probabilities = self._probabilities
        result: Array = (self._chosen - probabilities) * log_prob_gradients
        result -= np.float32(entropy_gradient) * self._outputs * probabilities * (1 - probabilities)
        return result


class _Gaussian:
    """Normally distributed actions; their standard deviations are parameters, not outputs."""

    def __init__(self, space: gym.spaces.Box, log_std: Array, gradient: Array) -> None:
        self._space = space
        self._log_std = log_std[0][:, None]
        self._gradient = gradient[0]

    def noise(self, steps: int, envs: int) -> Array:
        normal = np.random.standard_normal((steps, len(self._log_std), envs))
        scaled: Array = (normal * np.exp(self._log_std)).astype(np.float32)
        return scaled

    def choose(self, outputs: Array, noise: Array) -> Actions:
        outputs += noise
        return outputs.T

    def for_envs(self, actions: Actions) -> Actions:
        shaped = actions.reshape(-1, *self._space.shape)
        played: Actions = np.clip(shaped, self._space.low, self._space.high)
        return played

    def prepare(self, actions: Actions) -> Actions:
        return actions.astype(np.float32)

    def evaluate(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        self._deviation = np.exp(self._log_std)
        self._distance = (actions.T - outputs) / self._deviation
        self._squares = self._distance * self._distance
        spread = np.add.reduce(self._log_std) + np.float32(len(outputs) * _HALF_LOG_TAU)
        log_prob = np.float32(-0.5) * np.add.reduce(self._squares, axis=0) - spread
        return log_prob, spread + np.float32(len(outputs) * 0.5)

    def gradients(self, log_prob_gradients: Array, entropy_gradient: float) -> Array:
        np.add.reduce((self._squares - 1) * log_prob_gradients, axis=1, out=self._gradient)
        self._gradient += np.float32(entropy_gradient * len(log_prob_gradients))
        result: Array = self._distance / self._deviation * log_prob_gradients
        return result
