"""Torch's optimizers applied to one flat vector; their state remains in torch's objects."""

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch

from app.worker.fast.flat import Array, FlatParameters

_UNSUPPORTED_OPTIONS = ("weight_decay", "amsgrad", "maximize", "momentum", "centered")


class NotFiniteError(Exception):
    """Training diverged: a gradient is NaN or infinite."""

    def __init__(self) -> None:
        super().__init__("Training diverged: gradients are not finite. Lower learning_rate.")


class FlatOptimizer(ABC):
    """Updates all weights at once; torch's state of each parameter is a view of its vectors."""

    def __init__(self, optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> None:
        self._optimizer = optimizer
        self._weights = parameters.values
        self._gradients = parameters.gradients
        self._slices = parameters.slices
        # One per parameter: torch would increment a shared counter several times.
        self._steps: Array = np.zeros(len(self._slices), np.float32)
        self._share_state(
            "step", [self._steps[n : n + 1].reshape(()) for n in range(len(self._steps))]
        )

    @abstractmethod
    def step(self, max_norm: float) -> float:
        """Clip the gradients to `max_norm` and update the weights; return the unclipped norm."""

    def _state_vector(self, name: str) -> Array:
        """Return torch's state with this name as one vector."""
        vector = np.zeros_like(self._weights)
        self._share_state(name, [vector[part].reshape(p.shape) for p, part in self._slices])
        return vector

    def _share_state(self, name: str, views: list[Array]) -> None:
        for (parameter, _), view in zip(self._slices, views, strict=True):
            state = self._optimizer.state[parameter]
            if name in state:
                view[...] = torch.as_tensor(state[name]).numpy()
            state[name] = torch.from_numpy(view)

    def _begin_step(self, max_norm: float) -> float:
        """Count a step and clip the gradients; return their unclipped norm."""
        norm = math.sqrt(float(np.dot(self._gradients, self._gradients)))
        if not math.isfinite(norm):
            raise NotFiniteError
        self._steps += 1.0
        if (scale := max_norm / (norm + 1e-6)) < 1.0:
            self._gradients *= np.float32(scale)
        return norm

    @property
    def _group(self) -> dict[str, Any]:
        return self._optimizer.param_groups[0]


def flat_optimizer(optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> FlatOptimizer:
    """Return the same optimizer for the flat vector, with its current state.

    Raises:
        TypeError: if the optimizer or one of its options is not supported.
    """
    if not any(optimizer.param_groups[0].get(name) for name in _UNSUPPORTED_OPTIONS):
        match optimizer:
            case torch.optim.Adam():
                return _Adam(optimizer, parameters)
            case torch.optim.RMSprop():
                return _RMSprop(optimizer, parameters)
    raise TypeError(f"The fast engine does not support this optimizer: {optimizer}")


class _Adam(FlatOptimizer):
    def __init__(self, optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> None:
        super().__init__(optimizer, parameters)
        moments = (self._state_vector("exp_avg"), self._state_vector("exp_avg_sq"))
        vectors = (self._weights, self._gradients, *moments)
        self._vectors = [[torch.from_numpy(vector)] for vector in vectors]
        self._count = [torch.from_numpy(self._steps[:1].reshape(()))]

    def step(self, max_norm: float) -> float:
        """Do a step of `torch.optim.Adam`."""
        norm = self._begin_step(max_norm)
        group = self._group
        weights, gradients, means, squares = self._vectors
        # The kernel of Adam(fused=True): a dozen NumPy passes over all weights take twice as
        # long, and torch's optimizer with its overhead would take even longer.
        torch._fused_adam_(
            weights,
            gradients,
            means,
            squares,
            max_exp_avg_sqs=[],
            state_steps=self._count,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            eps=group["eps"],
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
        )
        return norm


class _RMSprop(FlatOptimizer):
    def __init__(self, optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> None:
        super().__init__(optimizer, parameters)
        self._square = self._state_vector("square_avg")
        self._scratch = np.empty_like(self._weights)

    def step(self, max_norm: float) -> float:
        """Do a step of `torch.optim.RMSprop`."""
        norm = self._begin_step(max_norm)
        group, scratch = self._group, self._scratch
        np.multiply(self._gradients, self._gradients, out=scratch)
        scratch *= np.float32(1 - group["alpha"])
        self._square *= np.float32(group["alpha"])
        self._square += scratch
        np.sqrt(self._square, out=scratch)
        scratch += np.float32(group["eps"])
        np.divide(self._gradients, scratch, out=scratch)
        scratch *= np.float32(group["lr"])
        self._weights -= scratch
        return norm
