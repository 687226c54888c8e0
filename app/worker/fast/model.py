"""What all models of the fast engine share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import torch
from stable_baselines3.common.base_class import BaseAlgorithm

NetworkT = TypeVar("NetworkT")


@contextmanager
def tiny_is_zero() -> Iterator[None]:
    """Take numbers below 1e-38 for zero, as a decorator of whatever learns.

    There the moments of units end that get no gradient any more, and a processor is ten times
    slower with such numbers than with others.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


class FastModel(BaseAlgorithm, Generic[NetworkT]):
    """Works on its policy's weights in NumPy; all that is saved stays SB3's own."""

    after_gradient_step: Callable[[float | None], None] | None = None
    """Called after each gradient step; where gradients are clipped, with their length before."""
    _network: NetworkT | None = None

    @property
    def network(self) -> NetworkT:
        """The policy's weights as NumPy works on them."""
        if self._network is None:
            self._network = self._adopt_network()
        return self._network

    def _adopt_network(self) -> NetworkT:
        raise NotImplementedError

    def set_parameters(self, *arguments: Any, **options: Any) -> None:
        """Load weights and optimiser; torch gives the latter new tensors, so look anew."""
        super().set_parameters(*arguments, **options)
        self._network = None

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_network", "after_gradient_step"]
