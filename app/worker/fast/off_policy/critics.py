"""All critics of a policy as one stacked network, and their target networks."""

from typing import Any

import numpy as np
import torch

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import Layer, linear_layers
from app.worker.fast.off_policy.online_and_target import OnlineAndTarget
from app.worker.fast.off_policy.stacked import StackedNetwork, torch_activation


def stacked_critics(policy: Any) -> OnlineAndTarget[StackedNetwork]:  # noqa: ANN401 - several classes
    """Return all critics of an SB3 policy, computed together on the policy's own weights.

    Inputs are observations with actions below them; outputs have one block per critic.
    """
    activation = torch_activation(policy)

    def make_network(weights: FlatParameters, critic: Any) -> StackedNetwork:  # noqa: ANN401 - several classes
        nets: list[torch.nn.Sequential] = critic.q_networks
        stacks = zip(*(linear_layers(net) for net in nets), strict=True)
        layers = [Layer.from_torch(weights, *stack) for stack in stacks]
        return StackedNetwork(layers, activation)

    return OnlineAndTarget(
        make_network, policy.critic, policy.critic_target, policy.critic.optimizer
    )


def critic_inputs(observations: Array, actions: Array) -> Array:
    """Return the inputs of critics: each observation with its action below it."""
    return np.concatenate([observations, actions])
