"""The weights of a model as one vector, so that an optimiser moves all of them at once."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

Array = npt.NDArray[np.float32]


class FlatParameters:
    """One vector of weights and one of gradients, of which torch's parameters become views.

    Both sides work on the same memory: whatever one changes, the other sees.
    """

    def __init__(self, parameters: Iterable[torch.Tensor]) -> None:
        size = sum(parameter.numel() for parameter in parameters)
        self.values: Array = np.empty(size, np.float32)
        self.gradients: Array = np.zeros(size, np.float32)
        self.places: list[tuple[torch.Tensor, slice]] = []
        """Where each parameter is."""
        self._taken = 0

    def take(self, *parameters: torch.Tensor) -> tuple[Array, Array]:
        """Adopt parameters of one shape; return them and their gradients, stacked."""
        start = self._taken
        for parameter in parameters:
            self._adopt(parameter)
        place = slice(start, self._taken)
        shape = (len(parameters), *parameters[0].shape)
        return self.values[place].reshape(shape), self.gradients[place].reshape(shape)

    def follow(self, leader: "FlatParameters", tau: float) -> None:
        """Take over so much of the weights of another, which were taken in the same order."""
        ours = torch.from_numpy(self.values)
        ours.mul_(1 - tau).add_(torch.from_numpy(leader.values), alpha=tau)

    def _adopt(self, parameter: torch.Tensor) -> None:
        place = slice(self._taken, self._taken + parameter.numel())
        self._taken = place.stop
        self.places.append((parameter, place))
        values = self.values[place].reshape(parameter.shape)
        values[...] = parameter.detach().numpy()
        parameter.data = torch.from_numpy(values)
        parameter.grad = torch.from_numpy(self.gradients[place].reshape(parameter.shape))
