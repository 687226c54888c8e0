"""Wide networks of one shape side by side, as critics are.

Torch's kernels work on the same memory here, without torch's bookkeeping: from some ten thousand
numbers on they are two to ten times as fast as NumPy's, matrix products excepted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from app.worker.fast.flat import Array
from app.worker.fast.layers import ACTIVATIONS, Layer, ones

_relu_back = torch.ops.aten.threshold_backward.grad_input


@dataclass(frozen=True, slots=True)
class WideActivation:
    """A non-linearity of torch's memory, in place as those of `layers.py`."""

    bend: Callable[[torch.Tensor], Any]
    bend_back: Callable[[torch.Tensor, torch.Tensor], Any]


def wide_activation(kind: type[torch.nn.Module]) -> WideActivation:
    """Return how one of torch's non-linearities is done here."""
    if kind is torch.nn.ReLU:
        return WideActivation(
            torch.relu_, lambda outputs, slopes: _relu_back(slopes, outputs, 0, grad_input=slopes)
        )
    usual = ACTIVATIONS[kind]
    return WideActivation(
        lambda values: usual.bend(values.numpy()),
        lambda outputs, slopes: usual.bend_back(outputs.numpy(), slopes.numpy()),
    )


class _WideLayer:
    """A layer as torch's kernels take it."""

    def __init__(self, layer: Layer) -> None:
        self.weight = torch.from_numpy(layer.weight)
        self.turned = self.weight.transpose(1, 2)
        self.bias = torch.from_numpy(layer.bias)
        self.joined_weight = self.weight.flatten(0, 1)
        self.joined_bias = self.bias.flatten(0, 1)
        self.weight_gradient = torch.from_numpy(layer.weight_gradient)


class _Room:
    """Where a batch of one size is worked on, with a place for the outputs of each layer."""

    def __init__(self, layers: Sequence[Layer], size: int) -> None:
        shapes = [(*layer.weight.shape[:2], size) for layer in layers]
        self.kept = [torch.empty(shape) for shape in shapes]
        self.turned = [outputs.transpose(1, 2) for outputs in self.kept]
        self.aside = [torch.empty(shape) for shape in shapes]
        """Slopes, and outputs that aren't kept."""


class StackedNetwork:
    """Layers of several networks, with a non-linearity after each but the last.

    Inputs have a column per observation and are the same for all; outputs have a block for each
    network. Those are overwritten by the next call of the same kind.
    """

    def __init__(self, layers: Sequence[Layer], activation: WideActivation) -> None:
        """Take layers over, each of which is as many side by side as there are networks."""
        self._layers = layers
        self._wide = [_WideLayer(layer) for layer in layers]
        self._activation = activation
        self._rooms: dict[int, _Room] = {}
        self._room = _Room(layers, 0)
        self._inputs: Array = np.empty((0, 0), np.float32)

    def __getitem__(self, index: int) -> "StackedNetwork":
        """Return one of the networks alone."""
        part = slice(index, index + 1)
        return StackedNetwork([layer[part] for layer in self._layers], self._activation)

    def run(self, inputs: Array) -> Array:
        """Return the outputs."""
        return self._flow(inputs, self._room_for(inputs).aside)

    def forward(self, inputs: Array) -> Array:
        """Return the outputs, and keep what the ways back need."""
        self._inputs, self._room = inputs, self._room_for(inputs)
        return self._flow(inputs, self._room.kept)

    def _flow(self, inputs: Array, through: list[torch.Tensor]) -> Array:
        first, flowing = self._wide[0], through[0]
        # All see the same: one product for all.
        torch.addmm(
            first.joined_bias,
            first.joined_weight,
            torch.from_numpy(inputs),
            out=flowing.flatten(0, 1),
        )
        for layer, outputs in zip(self._wide[1:], through[1:], strict=True):
            self._activation.bend(flowing)
            torch.baddbmm(layer.bias, layer.weight, flowing, out=outputs)
            flowing = outputs
        return flowing.numpy()

    def backward(self, slopes: Array) -> None:
        """Note all gradients, given how the loss depends on the outputs."""
        here = torch.from_numpy(slopes)
        for n in range(len(self._layers) - 1, -1, -1):
            if n > 0:
                torch.bmm(here, self._room.turned[n - 1], out=self._wide[n].weight_gradient)
            else:
                np.matmul(here.numpy(), self._inputs.T, out=self._layers[0].weight_gradient)
            sums = self._layers[n].bias_gradient
            np.matmul(here.numpy(), ones(slopes.shape[-1]), out=sums)
            if n > 0:
                here = self._through(n, here)

    def pull_back(self, slopes: Array, inputs: slice) -> Array:
        """Return how the loss depends on some of the inputs; the weights are left alone."""
        here = torch.from_numpy(slopes)
        for n in range(len(self._layers) - 1, 0, -1):
            here = self._through(n, here)
        every = np.matmul(self._layers[0].weight[..., inputs].swapaxes(-1, -2), here.numpy())
        total: Array = np.add.reduce(every)
        return total

    def pull_back_chosen(self, slope: float, chosen: npt.NDArray[np.int64], inputs: slice) -> Array:
        """Do the same where one network counts for each column, and its only output so much."""
        first = self._layers[0].weight[..., inputs]
        result = np.empty((first.shape[-1], len(chosen)), np.float32)
        for network, weight in enumerate(first):
            columns = np.flatnonzero(chosen == network)
            places = torch.from_numpy(columns)
            here = torch.full((1, len(columns)), slope)
            for n in range(len(self._layers) - 1, 0, -1):
                here = torch.mm(self._wide[n].turned[network], here)
                seen = self._room.kept[n - 1][network].index_select(1, places)
                self._activation.bend_back(seen, here)
            result[:, columns] = weight.T @ here.numpy()
        return result

    def _through(self, n: int, slopes: torch.Tensor) -> torch.Tensor:
        """Return how the loss depends on what layer `n - 1` had before its non-linearity."""
        before = self._room.aside[n - 1]
        torch.bmm(self._wide[n].turned, slopes, out=before)
        self._activation.bend_back(self._room.kept[n - 1], before)
        return before

    def _room_for(self, inputs: Array) -> _Room:
        size = inputs.shape[1]
        if size not in self._rooms:
            self._rooms[size] = _Room(self._layers, size)
        return self._rooms[size]
