"""Linear layers and activation functions, with forward and backward passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from app.worker.fast.flat import Array, FlatParameters


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer, or several stacked ones of the same size that are computed together."""

    weight: Array
    bias: Array
    weight_gradient: Array
    bias_gradient: Array

    @classmethod
    def from_torch(cls, parameters: FlatParameters, *layers: torch.nn.Linear) -> "Layer":
        """Create a layer on the weights of torch's layers."""
        weight, weight_gradient = parameters.register(*(layer.weight for layer in layers))
        bias, bias_gradient = parameters.register(*(layer.bias for layer in layers))
        return cls(weight, bias[..., None], weight_gradient, bias_gradient[..., None])

    def __getitem__(self, index: int | slice) -> "Layer":
        """Return one or some of the stacked layers."""
        parts = (self.weight, self.bias, self.weight_gradient, self.bias_gradient)
        return Layer(*(part[index] for part in parts))

    def joined(self) -> "Layer":
        """Return the stacked layers as a single one, with their outputs concatenated."""
        parts = (self.weight, self.bias, self.weight_gradient, self.bias_gradient)
        return Layer(*(part.reshape(1, -1, part.shape[-1]) for part in parts))

    def forward(self, inputs: Array) -> Array:
        """Return the outputs."""
        outputs: Array = np.matmul(self.weight, inputs)
        outputs += self.bias
        return outputs

    def write_gradients(self, inputs: Array, gradients: Array) -> None:
        """Write the gradients of the weights, given those of the outputs."""
        np.matmul(gradients, inputs.swapaxes(-1, -2), out=self.weight_gradient)
        np.matmul(gradients, ones(gradients.shape[-1]), out=self.bias_gradient)

    def backward(self, gradients: Array) -> Array:
        """Return the gradients of the inputs, given those of the outputs."""
        result: Array = np.matmul(self.weight.swapaxes(-1, -2), gradients)
        return result


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation function."""

    forward: Callable[[Array], None]
    """Apply it in place."""
    backward: Callable[[Array, Array], None]
    """Turn gradients of the outputs into gradients of the inputs in place, given the outputs."""


def _tanh(values: Array) -> None:
    np.tanh(values, out=values)


def _tanh_back(outputs: Array, gradients: Array) -> None:
    derivative = outputs * outputs
    np.subtract(1.0, derivative, out=derivative)
    gradients *= derivative


def _relu(values: Array) -> None:
    np.maximum(values, 0.0, out=values)


def _relu_back(outputs: Array, gradients: Array) -> None:
    gradients *= outputs > 0


def _elu(values: Array) -> None:
    below = np.minimum(values, 0.0)
    np.maximum(values, 0.0, out=values)
    values += np.expm1(below, out=below)


def _elu_back(outputs: Array, gradients: Array) -> None:
    derivative = np.minimum(outputs, 0.0)
    derivative += 1.0
    gradients *= derivative


ACTIVATIONS: dict[type[torch.nn.Module], Activation] = {
    torch.nn.Tanh: Activation(_tanh, _tanh_back),
    torch.nn.ReLU: Activation(_relu, _relu_back),
    torch.nn.ELU: Activation(_elu, _elu_back),
}


class Network:
    """A sequence of layers with an activation after each but the last, or after all."""

    def __init__(
        self, layers: Sequence[Layer], activation: Activation, *, activate_last: bool = False
    ) -> None:
        activated = len(layers) if activate_last else len(layers) - 1
        self._layers = [(layer, n < activated) for n, layer in enumerate(layers)]
        """Each layer and whether an activation follows it."""
        self._activation = activation
        self._layer_outputs: list[Array] = []

    def forward(self, inputs: Array, *, keep: bool = True) -> Array:
        """Return the outputs; `keep` the intermediate ones if `backward` will be called."""
        layer_outputs = [inputs]
        for layer, has_activation in self._layers:
            inputs = layer.forward(inputs)
            if has_activation:
                self._activation.forward(inputs)
            layer_outputs.append(inputs)
        if keep:
            self._layer_outputs = layer_outputs
        return inputs

    def backward(self, gradients: Array) -> None:
        """Write the gradients of all weights, given those of the outputs, which are overwritten."""
        for n in reversed(range(len(self._layers))):
            layer, has_activation = self._layers[n]
            if has_activation:
                self._activation.backward(self._layer_outputs[n + 1], gradients)
            layer.write_gradients(self._layer_outputs[n], gradients)
            if n > 0:
                gradients = layer.backward(gradients)


def linear_layers(net: torch.nn.Sequential) -> list[torch.nn.Linear]:
    """Return the linear layers of a network."""
    return [layer for layer in net if isinstance(layer, torch.nn.Linear)]


@lru_cache(maxsize=16)
def ones(size: int) -> Array:
    """Return a column of ones: a product with it sums rows."""
    return np.ones((size, 1), np.float32)
