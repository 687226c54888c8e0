"""An online network and its target network."""

from collections.abc import Callable
from typing import Generic, TypeVar

import torch

from app.worker.fast.flat import FlatParameters
from app.worker.fast.optimizers import flat_optimizer

TorchT = TypeVar("TorchT", bound=torch.nn.Module)
NetworkT = TypeVar("NetworkT")


class OnlineAndTarget(Generic[NetworkT]):
    """One of SB3's networks and its target network, on SB3's own weights."""

    def __init__(
        self,
        make_network: Callable[[FlatParameters, TorchT], NetworkT],
        online: TorchT,
        target: TorchT,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self._weights = FlatParameters(online.parameters())
        self._target_weights = FlatParameters(target.parameters())
        self.online = make_network(self._weights, online)
        self.target = make_network(self._target_weights, target)
        self.optimizer = flat_optimizer(optimizer, self._weights)

    def update_target(self, tau: float) -> None:
        """Move the target network's weights towards the online network's."""
        self._target_weights.polyak_update(self._weights, tau)
