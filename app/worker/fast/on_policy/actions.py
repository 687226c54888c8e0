"""How a network's outputs become actions, how likely those are, and how both change together.

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


class ActionKind(Protocol):
    """A distribution of actions; `outputs` are the network's, one column per observation."""

    def noise(self, steps: int, envs: int) -> Array:
        """Draw all that is random about a rollout."""

    def choose(self, outputs: Array, noise: Array) -> Actions:
        """Return one row per observation, as a rollout buffer keeps it."""

    def play(self, actions: Actions) -> Actions:
        """Return chosen actions as environments take them."""

    def columns(self, actions: Actions) -> Actions:
        """Return rows from a buffer as `judge` takes them: one column each."""

    def judge(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        """Return how likely actions are (as a logarithm), and the entropy of all."""

    def slopes(self, of_log_prob: Array, of_entropy: float) -> Array:
        """Return how a loss depends on the outputs that were judged last.

        Given is how it depends on the logarithms, and on the entropy of each observation.
        """


def action_kind(policy: ActorCriticPolicy, parameters: FlatParameters) -> ActionKind:
    """Return the distribution that a policy uses; takes its deviation over if it has one."""
    match policy.action_space:
        case gym.spaces.Discrete() as space:
            return _Categorical([int(space.n)], is_single=True)
        case gym.spaces.MultiDiscrete() as space:
            return _Categorical(space.nvec.tolist())
        case gym.spaces.MultiBinary() as space:
            return _Bernoulli(int(np.prod(space.shape)))
        case gym.spaces.Box() as space:
            return _Gaussian(space, *parameters.take(policy.log_std))
    raise TypeError(f"{policy.action_space} has no distribution here.")


class _Categorical:
    """One choice, or several at once."""

    def __init__(self, sizes: list[int], *, is_single: bool = False) -> None:
        self._height = sum(sizes)
        self._starts = np.cumsum([0, *sizes[:-1]])
        self._parts = [
            slice(start, start + size) for start, size in zip(self._starts, sizes, strict=True)
        ]
        self._is_single = is_single

    def noise(self, steps: int, envs: int) -> Array:
        waiting = np.random.standard_exponential((steps, self._height, envs))
        return (-np.log(waiting)).astype(np.float32)

    def choose(self, outputs: Array, noise: Array) -> Actions:
        # The largest of logits with Gumbel noise is drawn as often as the logits say.
        outputs += noise
        chosen = np.empty((outputs.shape[1], len(self._parts)), np.int64)
        for n, part in enumerate(self._parts):
            outputs[part].argmax(axis=0, out=chosen[:, n])
        return chosen

    def play(self, actions: Actions) -> Actions:
        played: Actions = actions[:, 0] if self._is_single else actions
        return played

    def columns(self, actions: Actions) -> Actions:
        rows: Actions = (actions.astype(np.int64) + self._starts).T.copy()
        return rows

    def judge(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        self._logs = outputs
        self._shares = np.empty_like(outputs)
        self._chosen = (actions, _up_to(outputs.shape[1]))
        self._entropies = [self._scale(part) for part in self._parts]
        log_prob = np.add.reduce(self._logs[self._chosen], axis=0)
        return log_prob, sum(self._entropies[1:], self._entropies[0])

    def _scale(self, part: slice) -> Array:
        """Turn one choice's outputs into probabilities and their logarithms; return its entropy."""
        logs, shares = self._logs[part], self._shares[part]
        logs -= np.maximum.reduce(logs, axis=0)
        np.exp(logs, out=shares)
        total = np.add.reduce(shares, axis=0)
        shares /= total
        logs -= np.log(total)
        entropy: Array = -np.add.reduce(shares * logs, axis=0)
        return entropy

    def slopes(self, of_log_prob: Array, of_entropy: float) -> Array:
        result: Array = self._shares * -of_log_prob
        result[self._chosen] += of_log_prob
        if of_entropy:
            for part, entropy in zip(self._parts, self._entropies, strict=True):
                change = self._logs[part] + entropy
                change *= self._shares[part]
                change *= np.float32(of_entropy)
                result[part] -= change
        return result


@lru_cache(maxsize=16)
def _up_to(count: int) -> npt.NDArray[np.int64]:
    return np.arange(count)


class _Bernoulli:
    """Several switches."""

    def __init__(self, switches: int) -> None:
        self._height = switches

    def noise(self, steps: int, envs: int) -> Array:
        return np.random.logistic(size=(steps, self._height, envs)).astype(np.float32)

    def choose(self, outputs: Array, noise: Array) -> Actions:
        outputs += noise
        return (outputs > 0).T.astype(np.int8)

    def play(self, actions: Actions) -> Actions:
        return actions

    def columns(self, actions: Actions) -> Actions:
        return actions.T.astype(np.float32)

    def judge(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        self._outputs = outputs
        self._shares: Array = np.reciprocal(1 + np.exp(-outputs))
        self._chosen = actions
        either = np.logaddexp(np.float32(0), outputs)
        log_prob = np.add.reduce(actions * outputs - either, axis=0)
        return log_prob, np.add.reduce(either - outputs * self._shares, axis=0)

    def slopes(self, of_log_prob: Array, of_entropy: float) -> Array:
        result: Array = (self._chosen - self._shares) * of_log_prob
        result -= np.float32(of_entropy) * self._outputs * self._shares * (1 - self._shares)
        return result


class _Gaussian:
    """Numbers around a mean, with deviations that are weights of their own."""

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

    def play(self, actions: Actions) -> Actions:
        shaped = actions.reshape(-1, *self._space.shape)
        played: Actions = np.clip(shaped, self._space.low, self._space.high)
        return played

    def columns(self, actions: Actions) -> Actions:
        return actions.T.astype(np.float32)

    def judge(self, outputs: Array, actions: Actions) -> tuple[Array, Array]:
        self._deviation = np.exp(self._log_std)
        self._distance = (actions - outputs) / self._deviation
        self._squares = self._distance * self._distance
        spread = np.add.reduce(self._log_std) + np.float32(len(outputs) * _HALF_LOG_TAU)
        log_prob = np.float32(-0.5) * np.add.reduce(self._squares, axis=0) - spread
        return log_prob, spread + np.float32(len(outputs) * 0.5)

    def slopes(self, of_log_prob: Array, of_entropy: float) -> Array:
        np.add.reduce((self._squares - 1) * of_log_prob, axis=1, out=self._gradient)
        self._gradient += np.float32(of_entropy * len(of_log_prob))
        result: Array = self._distance / self._deviation * of_log_prob
        return result
