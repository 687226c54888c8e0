"""Networks that say what an action is worth, side by side, and the copies that follow them."""

from typing import Any

import numpy as np
import torch

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import Layer, linear_layers
from app.worker.fast.off_policy.stacked import StackedNetwork, WideActivation
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer


class Critics:
    """Runs all critics of an SB3 policy at once, on its own weights.

    What goes in is an observation with an action below it, what comes out is one block for each
    critic.
    """

    def __init__(self, policy: Any, activation: WideActivation) -> None:  # noqa: ANN401 - several classes
        self._weights, self.online = _adopt(policy.critic, activation)
        self._target_weights, self.target = _adopt(policy.critic_target, activation)
        self.optimizer: FlatOptimizer = flat_optimizer(policy.critic.optimizer, self._weights)

    def follow(self, tau: float) -> None:
        """Let the copies take over so much of the critics."""
        self._target_weights.follow(self._weights, tau)


def beside(observations: Array, actions: Array) -> Array:
    """Return what critics look at."""
    return np.concatenate([observations, actions])


def _adopt(critic: Any, activation: WideActivation) -> tuple[FlatParameters, StackedNetwork]:  # noqa: ANN401 - several classes
    weights = FlatParameters(critic.parameters())
    nets: list[torch.nn.Sequential] = critic.q_networks
    same_places = zip(*(linear_layers(net) for net in nets), strict=True)
    layers = [Layer.adopt(weights, *layers) for layers in same_places]
    return weights, StackedNetwork(layers, activation)
