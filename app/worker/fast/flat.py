"""The weights of a model as one vector, so that an optimizer updates all of them at once."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[np.float32]


class FlatParameters:
    """One vector of weights and one of gradients; torch's parameters become views of them.

    Both share the same memory: a change in one is visible in the other.
    """

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        size = sum(parameter.numel() for parameter in parameters)
        self.values: Array = np.empty(size, np.float32)
        self.gradients: Array = np.zeros(size, np.float32)
        self.slices: list[tuple[torch.Tensor, slice]] = []
        """Each parameter and its position in the vectors."""
        self._used = 0

    def register(self, *parameters: torch.Tensor) -> tuple[Array, Array]:
        """Move parameters of one shape into the vectors; return them and their gradients, stacked.

        Torch's parameters and gradients become views of the vectors.
        """
        start = self._used
        for parameter in parameters:
            self._register(parameter)
        part = slice(start, self._used)
        shape = (len(parameters), *parameters[0].shape)
        return self.values[part].reshape(shape), self.gradients[part].reshape(shape)

    def polyak_update(self, source: "FlatParameters", tau: float) -> None:
        """Move these weights towards those of `source`, registered in the same order."""
        target = torch.from_numpy(self.values)
        target.mul_(1 - tau).add_(torch.from_numpy(source.values), alpha=tau)

    def _register(self, parameter: torch.Tensor) -> None:
        part = slice(self._used, self._used + parameter.numel())
        self._used = part.stop
        self.slices.append((parameter, part))
        values = self.values[part].reshape(parameter.shape)
        values[...] = parameter.detach().numpy()
        parameter.data = torch.from_numpy(values)
        parameter.grad = torch.from_numpy(self.gradients[part].reshape(parameter.shape))
