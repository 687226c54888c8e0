"""DQN's Q-network and its target network."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.dqn.policies import DQNPolicy
from stable_baselines3.dqn.policies import QNetwork as TorchQNetwork

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import ACTIVATIONS, Layer, Network, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.off_policy.online_and_target import OnlineAndTarget


class QNetworks(OnlineAndTarget[Network]):
    """Both networks of an SB3 policy, on the policy's own weights."""

    def __init__(self, policy: DQNPolicy) -> None:
        super().__init__(_make_network, policy.q_net, policy.q_net_target, policy.optimizer)
        self.encode = encoder(policy.observation_space)

    def greedy_actions(self, observations: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the greedy action for each observation."""
        q_values = self.online.forward(self.encode(observations), keep=False)
        best: npt.NDArray[np.int64] = q_values.argmax(axis=0)
        return best

    def max_target_values(self, observations: npt.NDArray[Any]) -> Array:
        """Return the target network's highest Q-value for each observation."""
        q_values = self.target.forward(self.encode(observations), keep=False)
        values: Array = np.maximum.reduce(q_values, axis=0)
        return values


def _make_network(weights: FlatParameters, net: TorchQNetwork) -> Network:
    assert isinstance(net.q_net, torch.nn.Sequential)
    layers = [Layer.from_torch(weights, layer)[0] for layer in linear_layers(net.q_net)]
    return Network(layers, ACTIVATIONS[type(net.activation_fn())])
