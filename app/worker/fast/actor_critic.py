"""The policy and the value function of a model, side by side."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from app.worker.fast.actions import ActionKind, action_kind
from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import ACTIVATIONS, Layer, Network, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer

_AT_ONCE = 1024
"""So many observations at once stay in the processor's cache."""


class ActorCritic:
    """Runs both networks of an SB3 policy on its own weights.

    They have hidden layers of the same sizes, so each pair of layers is one call.
    """

    def __init__(self, policy: ActorCriticPolicy) -> None:
        self.encode = encoder(policy.observation_space)
        nets = policy.mlp_extractor
        parameters = FlatParameters(policy.parameters())
        self._activation = ACTIVATIONS[type(policy.activation_fn())]
        pairs = zip(linear_layers(nets.policy_net), linear_layers(nets.value_net), strict=True)
        self._hidden = [Layer.adopt(parameters, *pair) for pair in pairs]
        assert isinstance(policy.action_net, torch.nn.Linear)
        self._policy_head = Layer.adopt(parameters, policy.action_net)[0]
        self._value_head = Layer.adopt(parameters, policy.value_net)[0]
        self.actions: ActionKind = action_kind(policy, parameters)
        self.optimizer: FlatOptimizer = flat_optimizer(policy.optimizer, parameters)
        policy_layers = [*(pair[0] for pair in self._hidden), self._policy_head]
        value_layers = [*(pair[1] for pair in self._hidden), self._value_head]
        self._policy = Network(policy_layers, self._activation)
        self._values = Network(value_layers, self._activation)
        self._kept: list[Array] = []

    def act(self, observations: npt.NDArray[Any]) -> Array:
        """Return the policy's outputs alone."""
        return self._policy.run(self.encode(observations))

    def values(self, observations: npt.NDArray[Any]) -> Array:
        """Return what is expected from each of a few observations."""
        values: Array = self._values.run(self.encode(observations))[0]
        return values

    def judge(
        self, observations: npt.NDArray[Any], actions: npt.NDArray[Any]
    ) -> tuple[Array, Array]:
        """Return values and logarithms of probabilities of any number of steps."""
        values = np.empty(len(observations), np.float32)
        log_probs = np.empty(len(observations), np.float32)
        columns = self.actions.columns(actions)
        for start in range(0, len(observations), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            outputs, values[part] = self.forward(observations[part])
            log_probs[part], _ = self.actions.judge(outputs, columns[:, part])
        return values, log_probs

    def forward(self, observations: npt.NDArray[Any]) -> tuple[Array, Array]:
        """Return the policy's outputs and the values, and keep what `backward` needs."""
        flowing = self.encode(observations)
        self._kept = [flowing]
        for layer in self._hidden:
            flowing = layer.forward(flowing)
            self._activation.bend(flowing)
            self._kept.append(flowing)
        of_policy, of_value = (flowing[0], flowing[1]) if self._hidden else (flowing, flowing)
        return self._policy_head.forward(of_policy), self._value_head.forward(of_value)[0]

    def backward(self, of_outputs: Array, of_values: Array) -> None:
        """Note all gradients, given how the loss depends on what `forward` returned."""
        of_values = of_values[None]
        *_, last = self._kept
        of_policy, of_value = (last[0], last[1]) if self._hidden else (last, last)
        self._policy_head.note_gradients(of_policy, of_outputs)
        self._value_head.note_gradients(of_value, of_values)
        if not self._hidden:
            return
        slopes = np.empty_like(last)
        slopes[0] = self._policy_head.backward(of_outputs)
        slopes[1] = self._value_head.backward(of_values)
        for n in reversed(range(len(self._hidden))):
            self._activation.bend_back(self._kept[n + 1], slopes)
            self._hidden[n].note_gradients(self._kept[n], slopes)
            if n > 0:
                slopes = self._hidden[n].backward(slopes)
