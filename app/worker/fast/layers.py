"""Linear layers and non-linearities, forwards and backwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from app.worker.fast.flat import Array, FlatParameters


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer, or several of one size side by side, which one call runs all."""

    weight: Array
    bias: Array
    weight_gradient: Array
    bias_gradient: Array

    @classmethod
    def adopt(cls, parameters: FlatParameters, *layers: torch.nn.Linear) -> "Layer":
        """Take torch's layers over."""
        weight, weight_gradient = parameters.take(*(layer.weight for layer in layers))
        bias, bias_gradient = parameters.take(*(layer.bias for layer in layers))
        return cls(weight, bias[..., None], weight_gradient, bias_gradient[..., None])

    def __getitem__(self, index: int | slice) -> "Layer":
        """Return one or some of those that are side by side."""
        parts = (self.weight, self.bias, self.weight_gradient, self.bias_gradient)
        return Layer(*(part[index] for part in parts))

    def joined(self) -> "Layer":
        """Return all that are side by side as one, with one's outputs below the other's."""
        parts = (self.weight, self.bias, self.weight_gradient, self.bias_gradient)
        return Layer(*(part.reshape(1, -1, part.shape[-1]) for part in parts))

    def forward(self, inputs: Array) -> Array:
        """Return the outputs."""
        outputs: Array = np.matmul(self.weight, inputs)
        outputs += self.bias
        return outputs

    def note_gradients(self, inputs: Array, slopes: Array) -> None:
        """Note how the loss depends on the weights, given how it depends on the outputs."""
        np.matmul(slopes, inputs.swapaxes(-1, -2), out=self.weight_gradient)
        np.matmul(slopes, ones(slopes.shape[-1]), out=self.bias_gradient)

    def backward(self, slopes: Array) -> Array:
        """Return how the loss depends on the inputs."""
        result: Array = np.matmul(self.weight.swapaxes(-1, -2), slopes)
        return result


@dataclass(frozen=True, slots=True)
class Activation:
    """A non-linearity."""

    bend: Callable[[Array], None]
    """Apply it in place."""
    bend_back: Callable[[Array, Array], None]
    """Given its outputs, turn slopes of the outputs into slopes of the inputs, in place."""


def _tanh(values: Array) -> None:
    np.tanh(values, out=values)


def _tanh_back(outputs: Array, slopes: Array) -> None:
    steepness = outputs * outputs
    np.subtract(1.0, steepness, out=steepness)
    slopes *= steepness


def _relu(values: Array) -> None:
    np.maximum(values, 0.0, out=values)


def _relu_back(outputs: Array, slopes: Array) -> None:
    slopes *= outputs > 0


def _elu(values: Array) -> None:
    below = np.minimum(values, 0.0)
    np.maximum(values, 0.0, out=values)
    values += np.expm1(below, out=below)


def _elu_back(outputs: Array, slopes: Array) -> None:
    steepness = np.minimum(outputs, 0.0)
    steepness += 1.0
    slopes *= steepness


ACTIVATIONS: dict[type[torch.nn.Module], Activation] = {
    torch.nn.Tanh: Activation(_tanh, _tanh_back),
    torch.nn.ReLU: Activation(_relu, _relu_back),
    torch.nn.ELU: Activation(_elu, _elu_back),
}


class Network:
    """Layers one after another, with a non-linearity after each but the last."""

    def __init__(self, layers: Sequence[Layer], activation: Activation) -> None:
        self._layers = layers
        self._activation = activation
        self._kept: list[Array] = []

    def run(self, flowing: Array) -> Array:
        """Return the outputs."""
        for layer in self._layers[:-1]:
            flowing = layer.forward(flowing)
            self._activation.bend(flowing)
        return self._layers[-1].forward(flowing)

    def forward(self, flowing: Array) -> Array:
        """Return the outputs, and keep what `backward` needs."""
        self._kept = [flowing]
        for layer in self._layers[:-1]:
            flowing = layer.forward(flowing)
            self._activation.bend(flowing)
            self._kept.append(flowing)
        return self._layers[-1].forward(flowing)

    def backward(self, slopes: Array) -> None:
        """Note all gradients, given how the loss depends on the outputs."""
        for n in range(len(self._layers) - 1, -1, -1):
            self._layers[n].note_gradients(self._kept[n], slopes)
            if n > 0:
                slopes = self._layers[n].backward(slopes)
                self._activation.bend_back(self._kept[n], slopes)


class Hidden:
    """Layers one after another, with a non-linearity after each."""

    def __init__(self, layers: Sequence[Layer], activation: Activation) -> None:
        self._layers = layers
        self._activation = activation
        self._kept: list[Array] = []

    def forward(self, flowing: Array) -> Array:
        """Return the outputs, and keep what `backward` needs."""
        self._kept = [flowing]
        for layer in self._layers:
            flowing = layer.forward(flowing)
            self._activation.bend(flowing)
            self._kept.append(flowing)
        return flowing

    def backward(self, slopes: Array) -> None:
        """Note all gradients, given how the loss depends on the outputs; changes `slopes`."""
        for n in reversed(range(len(self._layers))):
            self._activation.bend_back(self._kept[n + 1], slopes)
            self._layers[n].note_gradients(self._kept[n], slopes)
            if n > 0:
                slopes = self._layers[n].backward(slopes)


def linear_layers(net: torch.nn.Sequential) -> list[torch.nn.Linear]:
    """Return the layers of a network that have weights."""
    return [layer for layer in net if isinstance(layer, torch.nn.Linear)]


@lru_cache(maxsize=16)
def ones(size: int) -> Array:
    """Return a column of ones: a product with it is a sum."""
    return np.ones((size, 1), np.float32)
