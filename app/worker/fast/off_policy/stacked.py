"""Several wide networks of one shape computed together, such as critics.

Uses torch's kernels on the same memory, without autograd: from about ten thousand numbers on
they are two to ten times as fast as NumPy, except for matrix products.
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
class TorchActivation:
    """An activation function on torch tensors, in place like those of `layers.py`."""

    forward: Callable[[torch.Tensor], Any]
    backward: Callable[[torch.Tensor, torch.Tensor], Any]


def torch_activation(policy: Any) -> TorchActivation:  # noqa: ANN401 - TD3's, SAC's or TQC's
    """Return the activation function of an SB3 policy."""
    kind = type(policy.activation_fn())
    if kind is torch.nn.ReLU:
        return TorchActivation(
            torch.relu_,
            lambda outputs, gradients: _relu_back(gradients, outputs, 0, grad_input=gradients),
        )
    in_numpy = ACTIVATIONS[kind]
    return TorchActivation(
        lambda values: in_numpy.forward(values.numpy()),
        lambda outputs, gradients: in_numpy.backward(outputs.numpy(), gradients.numpy()),
    )


class _TorchLayer:
    """A layer's arrays as torch tensors."""

    def __init__(self, layer: Layer) -> None:
        self.weight = torch.from_numpy(layer.weight)
        self.transposed = self.weight.transpose(1, 2)
        self.bias = torch.from_numpy(layer.bias)
        self.joined_weight = self.weight.flatten(0, 1)
        self.joined_bias = self.bias.flatten(0, 1)
        self.weight_gradient = torch.from_numpy(layer.weight_gradient)


class _Workspace:
    """Buffers for the outputs of each layer, for batches of one size."""

    def __init__(self, layers: Sequence[Layer], size: int) -> None:
        shapes = [(*layer.weight.shape[:2], size) for layer in layers]
        self.outputs = [torch.empty(shape) for shape in shapes]
        self.transposed = [outputs.transpose(1, 2) for outputs in self.outputs]
        self.scratch = [torch.empty(shape) for shape in shapes]
        """For gradients, and for outputs that are not kept."""


class StackedNetwork:
    """Several networks with the same layer sizes, with an activation after each layer but the last.

    Inputs have a column per observation and are the same for all networks; outputs have a block
    per network and are overwritten by the next call with the same `keep`.
    """

    def __init__(self, layers: Sequence[Layer], activation: TorchActivation) -> None:
        """Make the networks from layers that stack one layer of each."""
        self._layers = layers
        self._torch_layers = [_TorchLayer(layer) for layer in layers]
        self._activation = activation
        self._workspaces: dict[int, _Workspace] = {}
        self._workspace = _Workspace(layers, 0)
        self._inputs: Array = np.empty((0, 0), np.float32)

    def __getitem__(self, index: int) -> "StackedNetwork":
        """Return a single one of the networks."""
        part = slice(index, index + 1)
        return StackedNetwork([layer[part] for layer in self._layers], self._activation)

    def forward(self, inputs: Array, *, keep: bool = True) -> Array:
        """Return the outputs; `keep` the intermediate ones if gradients will be computed."""
        workspace = self._workspace_for(inputs)
        if keep:
            self._inputs, self._workspace = inputs, workspace
        buffers = workspace.outputs if keep else workspace.scratch
        first, values = self._torch_layers[0], buffers[0]
        # All networks have the same inputs: one product computes their first layers.
        torch.addmm(
            first.joined_bias,
            first.joined_weight,
            torch.from_numpy(inputs),
            out=values.flatten(0, 1),
        )
        for layer, outputs in zip(self._torch_layers[1:], buffers[1:], strict=True):
            self._activation.forward(values)
            torch.baddbmm(layer.bias, layer.weight, values, out=outputs)
            values = outputs
        return values.numpy()

    def backward(self, gradients: Array) -> None:
        """Write the gradients of all weights, given those of the outputs."""
        grads = torch.from_numpy(gradients)
        for n in range(len(self._layers) - 1, -1, -1):
            if n > 0:
                previous = self._workspace.transposed[n - 1]
                torch.bmm(grads, previous, out=self._torch_layers[n].weight_gradient)
            else:
                np.matmul(grads.numpy(), self._inputs.T, out=self._layers[0].weight_gradient)
            sums = self._layers[n].bias_gradient
            np.matmul(grads.numpy(), ones(gradients.shape[-1]), out=sums)
            if n > 0:
                grads = self._backward_through(n, grads)

    def input_gradients(self, gradients: Array, inputs: slice) -> Array:
        """Return the gradients of some inputs, given those of the outputs; skip the weights."""
        grads = torch.from_numpy(gradients)
        for n in range(len(self._layers) - 1, 0, -1):
            grads = self._backward_through(n, grads)
        per_network = np.matmul(self._layers[0].weight[..., inputs].swapaxes(-1, -2), grads.numpy())
        total: Array = np.add.reduce(per_network)
        return total

    def input_gradients_of_chosen(
        self, gradient: float, chosen: npt.NDArray[np.int64], inputs: slice
    ) -> Array:
        """Do the same with one network chosen per column, given the gradient of its output."""
        first = self._layers[0].weight[..., inputs]
        result = np.empty((first.shape[-1], len(chosen)), np.float32)
        for network, weight in enumerate(first):
            columns = np.flatnonzero(chosen == network)
            indices = torch.from_numpy(columns)
            grads = torch.full((1, len(columns)), gradient)
            for n in range(len(self._layers) - 1, 0, -1):
                grads = torch.mm(self._torch_layers[n].transposed[network], grads)
                outputs = self._workspace.outputs[n - 1][network].index_select(1, indices)
                self._activation.backward(outputs, grads)
            result[:, columns] = weight.T @ grads.numpy()
        return result

    def _backward_through(self, n: int, gradients: torch.Tensor) -> torch.Tensor:
        """Return the gradients of layer `n - 1` before its activation."""
        before = self._workspace.scratch[n - 1]
        torch.bmm(self._torch_layers[n].transposed, gradients, out=before)
        self._activation.backward(self._workspace.outputs[n - 1], before)
        return before

    def _workspace_for(self, inputs: Array) -> _Workspace:
        size = inputs.shape[1]
        if size not in self._workspaces:
            self._workspaces[size] = _Workspace(self._layers, size)
        return self._workspaces[size]
