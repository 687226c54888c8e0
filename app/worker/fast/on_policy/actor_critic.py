"""The policy and the value function of a model, side by side."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import ACTIVATIONS, Hidden, Layer, Network, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.on_policy.actions import ActionKind, action_kind
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer

_AT_ONCE = 1024
"""So many observations at once stay in the processor's cache."""


class ActorCritic:
    """Runs both networks of an SB3 policy on its own weights.

    Where they have hidden layers of the same sizes, each pair of layers is one call.
    """

    def __init__(self, policy: ActorCriticPolicy) -> None:
        self.encode = encoder(policy.observation_space)
        nets = policy.mlp_extractor
        parameters = FlatParameters(policy.parameters())
        activation = ACTIVATIONS[type(policy.activation_fn())]
        halves = linear_layers(nets.policy_net), linear_layers(nets.value_net)
        self._side_by_side: Hidden | None = None
        if _are_alike(*halves):
            pairs = [Layer.adopt(parameters, *pair) for pair in zip(*halves, strict=True)]
            self._side_by_side = Hidden(pairs, activation)
            of_policy, of_value = ([pair[n] for pair in pairs] for n in (0, 1))
        else:
            of_policy, of_value = (
                [Layer.adopt(parameters, layer)[0] for layer in half] for half in halves
            )
        self._apart = Hidden(of_policy, activation), Hidden(of_value, activation)
        assert isinstance(policy.action_net, torch.nn.Linear)
        self._policy_head = Layer.adopt(parameters, policy.action_net)[0]
        self._value_head = Layer.adopt(parameters, policy.value_net)[0]
        self.actions: ActionKind = action_kind(policy, parameters)
        self.optimizer: FlatOptimizer = flat_optimizer(policy.optimizer, parameters)
        self._policy = Network([*of_policy, self._policy_head], activation)
        self._values = Network([*of_value, self._value_head], activation)
        self._kept: tuple[Array, Array] | None = None

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
        seen = self.encode(observations)
        if self._side_by_side is not None:
            of_policy, of_value = self._side_by_side.forward(seen)
        else:
            of_policy, of_value = (half.forward(seen) for half in self._apart)
        self._kept = of_policy, of_value
        return self._policy_head.forward(of_policy), self._value_head.forward(of_value)[0]

    def backward(self, of_outputs: Array, of_values: Array) -> None:
        """Note all gradients, given how the loss depends on what `forward` returned."""
        assert self._kept is not None
        heads = (self._policy_head, of_outputs), (self._value_head, of_values[None])
        for (head, slopes), seen in zip(heads, self._kept, strict=True):
            head.note_gradients(seen, slopes)
        below = [head.backward(slopes) for head, slopes in heads]
        if self._side_by_side is not None:
            self._side_by_side.backward(np.array(below))
        else:
            for half, slopes in zip(self._apart, below, strict=True):
                half.backward(slopes)


def _are_alike(*halves: list[torch.nn.Linear]) -> bool:
    """Whether both have hidden layers, of the same sizes."""
    policy, value = ([layer.out_features for layer in half] for half in halves)
    return policy == value != []
