"""What DQN thinks each action is worth, and the copy of it that follows behind."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from stable_baselines3.dqn.policies import DQNPolicy
from stable_baselines3.dqn.policies import QNetwork as TorchQNetwork

from app.worker.fast.flat import Array, FlatParameters
from app.worker.fast.layers import ACTIVATIONS, Layer, Network, linear_layers
from app.worker.fast.observations import encoder
from app.worker.fast.optimizers import FlatOptimizer, flat_optimizer


class QNetworks:
    """Runs both networks of an SB3 policy on its own weights."""

    def __init__(self, policy: DQNPolicy) -> None:
        self.encode = encoder(policy.observation_space)
        self._weights, self.online = _adopt(policy.q_net)
        self._target_weights, self.target = _adopt(policy.q_net_target)
        self.optimizer: FlatOptimizer = flat_optimizer(policy.optimizer, self._weights)

    def best(self, observations: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the action that is worth most in each observation."""
        best: npt.NDArray[np.int64] = self.online.run(self.encode(observations)).argmax(axis=0)
        return best

    def expected(self, observations: npt.NDArray[Any]) -> Array:
        """Return what the best action is worth in the eyes of the copy."""
        values: Array = np.maximum.reduce(self.target.run(self.encode(observations)), axis=0)
        return values

    def follow(self, tau: float) -> None:
        """Let the copy take over so much of the network."""
        self._target_weights.follow(self._weights, tau)


def _adopt(net: TorchQNetwork) -> tuple[FlatParameters, Network]:
    weights = FlatParameters(net.parameters())
    assert isinstance(net.q_net, torch.nn.Sequential)
    layers = [Layer.adopt(weights, layer)[0] for layer in linear_layers(net.q_net)]
    return weights, Network(layers, ACTIVATIONS[type(net.activation_fn())])
