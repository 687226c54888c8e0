"""The policy and value networks of a model, computed together."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import ACTIVATIONS, Layer, Network, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.on_policy.actions import ActionDistribution, action_distribution
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer

_CHUNK_SIZE = 1024
"""Number of observations evaluated at once; they fit in the processor's cache."""


class ActorCritic:
    """Both networks of an SB3 policy, on the policy's own weights.

    If their hidden layers have the same sizes, each pair of layers is computed in one call.
    """

    def __init__(self, policy: ActorCriticPolicy) -> None:
        self.encode = encoder(policy.observation_space)
        nets = policy.mlp_extractor
        parameters = FlatParameters(policy.parameters())
        activation = ACTIVATIONS[type(policy.activation_fn())]
        halves = linear_layers(nets.policy_net), linear_layers(nets.value_net)
        self._hidden: Network | None = None
        """The hidden layers of both networks, if they have the same sizes."""
        if _have_same_shape(*halves):
            pairs = [Layer.from_torch(parameters, *pair) for pair in zip(*halves, strict=True)]
            self._hidden = Network(pairs, activation, activate_last=True)
            of_policy, of_value = ([pair[n] for pair in pairs] for n in (0, 1))
        else:
            of_policy, of_value = (
                [Layer.from_torch(parameters, layer)[0] for layer in half] for half in halves
            )
        assert isinstance(policy.action_net, torch.nn.Linear)
        self._heads = [
            Layer.from_torch(parameters, head)[0] for head in (policy.action_net, policy.value_net)
        ]
        self._policy = Network([*of_policy, self._heads[0]], activation)
        self._values = Network([*of_value, self._heads[1]], activation)
        self.actions: ActionDistribution = action_distribution(policy, parameters)
        self.optimizer: FlatOptimizer = flat_optimizer(policy.optimizer, parameters)
        self._features: Array = np.empty((2, 0, 0), np.float32)

    def act(self, observations: npt.NDArray[Any]) -> Array:
        """Return the policy network's outputs."""
        return self._policy.forward(self.encode(observations), keep=False)

    def values(self, observations: npt.NDArray[Any]) -> Array:
        """Return the values of observations, all in one pass."""
        values: Array = self._values.forward(self.encode(observations), keep=False)[0]
        return values

    def evaluate(
        self, observations: npt.NDArray[Any], actions: npt.NDArray[Any]
    ) -> tuple[Array, Array]:
        """Return values and log-probabilities of any number of steps, in chunks."""
        values = np.empty(len(observations), np.float32)
        log_probs = np.empty(len(observations), np.float32)
        rows = self.actions.prepare(actions)
        for start in range(0, len(observations), _CHUNK_SIZE):
            part = slice(start, start + _CHUNK_SIZE)
            outputs, values[part] = self.forward(observations[part])
            log_probs[part], _ = self.actions.evaluate(outputs, rows[part])
        return values, log_probs

    def forward(self, observations: npt.NDArray[Any]) -> tuple[Array, Array]:
        """Return the policy's outputs and the values; keep intermediate outputs for `backward`."""
        inputs = self.encode(observations)
        if self._hidden is None:
            return self._policy.forward(inputs), self._values.forward(inputs)[0]
        self._features = self._hidden.forward(inputs)
        policy_outputs, values = map(Layer.forward, self._heads, self._features)
        return policy_outputs, values[0]

    def backward(self, output_gradients: Array, value_gradients: Array) -> None:
        """Write the gradients of all weights, given those of the results of `forward`."""
        gradients = output_gradients, value_gradients[None]
        if self._hidden is None:
            self._policy.backward(gradients[0])
            self._values.backward(gradients[1])
            return
        for head, features, gradient in zip(self._heads, self._features, gradients, strict=True):
            head.write_gradients(features, gradient)
        self._hidden.backward(np.array(list(map(Layer.backward, self._heads, gradients))))


def _have_same_shape(*halves: list[torch.nn.Linear]) -> bool:
    """Whether both networks have hidden layers, of the same sizes."""
    policy, value = ([layer.out_features for layer in half] for half in halves)
    return policy == value != []
