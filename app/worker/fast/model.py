"""The base class of the fast engine's algorithms."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import torch
from stable_baselines3.common.base_class import BaseAlgorithm

NetworkT = TypeVar("NetworkT")


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat numbers below 1e-38 as zero; a decorator for `train` methods.

    The moments of units that no longer get a gradient decay to such numbers, and processors
    compute ten times slower with them.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


class FastModel(BaseAlgorithm, Generic[NetworkT]):
    """An SB3 model that computes with its policy's weights in NumPy; saved models are SB3's."""

    after_gradient_step: Callable[[float | None], None] | None = None
    """Called after each gradient step with the gradient norm before clipping; None: no clipping."""
    _network: NetworkT | None = None

    @property
    def network(self) -> NetworkT:
        """The fast engine's networks on the policy's own weights."""
        if self._network is None:
            self._network = self._make_network()
        return self._network

    def _make_network(self) -> NetworkT:
        raise NotImplementedError

    def set_parameters(self, *arguments: Any, **options: Any) -> None:
        """Load weights and optimizer, and discard the networks: the optimizer has new tensors."""
        super().set_parameters(*arguments, **options)
        self._network = None

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_network", "after_gradient_step"]
