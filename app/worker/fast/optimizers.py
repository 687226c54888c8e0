"""What torch's optimisers do, on one vector; their state stays where torch keeps it."""

import math
from typing import Any, Protocol

import numpy as np
import torch
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike

from app.worker.fast.flat import Array, FlatParameters

_UNKNOWN_OPTIONS = ("weight_decay", "amsgrad", "maximize", "momentum", "centered")


class NotFiniteError(Exception):
    """Learning broke down: a gradient is no number any more."""

    def __init__(self) -> None:
        super().__init__("Learning broke down: gradients are not finite. Lower learning_rate.")


class FlatOptimizer(Protocol):
    """Moves the weights along their gradients."""

    def step(self, max_norm: float) -> float:
        """Do so, with gradients no longer than `max_norm`; return how long they were."""


def flat_optimizer(optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> FlatOptimizer:
    """Return the same optimiser for the flat vector, with the state that it has so far.

    Raises:
        TypeError: if it is one that isn't known here.
    """
    if not any(optimizer.param_groups[0].get(name) for name in _UNKNOWN_OPTIONS):
        match optimizer:
            case torch.optim.Adam():
                return _Adam(optimizer, parameters)
            case torch.optim.RMSprop() | RMSpropTFLike():
                return _RMSprop(optimizer, parameters)
    raise TypeError(f"The fast engine doesn't know this optimiser: {optimizer}")


class _Flat:
    """Keeps torch's state of every parameter as views of a few vectors."""

    def __init__(self, optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> None:
        self._optimizer = optimizer
        self._weights = parameters.values
        self._gradients = parameters.gradients
        self._places = parameters.places
        # One for each parameter: torch would count a shared one several times.
        self._steps: Array = np.zeros(len(self._places), np.float32)
        self._share("step", [self._steps[n : n + 1].reshape(()) for n in range(len(self._steps))])

    def _adopt(self, name: str, start: float = 0.0) -> Array:
        """Return torch's state of this name as one vector."""
        vector = np.full_like(self._weights, start)
        self._share(name, [vector[place].reshape(p.shape) for p, place in self._places])
        return vector

    def _share(self, name: str, views: list[Array]) -> None:
        for (parameter, _), view in zip(self._places, views, strict=True):
            state = self._optimizer.state[parameter]
            if name in state:
                view[...] = torch.as_tensor(state[name]).numpy()
            state[name] = torch.from_numpy(view)

    def _begin(self, max_norm: float) -> float:
        """Count a step and shorten the gradients; return how long they were."""
        length = math.sqrt(float(np.dot(self._gradients, self._gradients)))
        if not math.isfinite(length):
            raise NotFiniteError
        self._steps += 1.0
        if (share := max_norm / (length + 1e-6)) < 1.0:
            self._gradients *= np.float32(share)
        return length

    @property
    def _group(self) -> dict[str, Any]:
        return self._optimizer.param_groups[0]


class _Adam(_Flat):
    def __init__(self, optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> None:
        super().__init__(optimizer, parameters)
        moments = (self._adopt("exp_avg"), self._adopt("exp_avg_sq"))
        vectors = (self._weights, self._gradients, *moments)
        self._vectors = [[torch.from_numpy(vector)] for vector in vectors]
        self._count = [torch.from_numpy(self._steps[:1].reshape(()))]

    def step(self, max_norm: float) -> float:
        """Follow the gradients' mean, divided by their size."""
        length = self._begin(max_norm)
        group = self._group
        weights, gradients, means, squares = self._vectors
        # What Adam(fused=True) calls: in NumPy its dozen passes over all weights take twice as
        # long, and with the optimiser's own bookkeeping it would be slower than those.
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
        return length


class _RMSprop(_Flat):
    def __init__(self, optimizer: torch.optim.Optimizer, parameters: FlatParameters) -> None:
        super().__init__(optimizer, parameters)
        self._is_tensorflow_s = isinstance(optimizer, RMSpropTFLike)
        self._square = self._adopt("square_avg", start=1.0 if self._is_tensorflow_s else 0.0)
        self._aside = np.empty_like(self._weights)

    def step(self, max_norm: float) -> float:
        """Follow the gradients, divided by their size."""
        length = self._begin(max_norm)
        group, aside = self._group, self._aside
        np.multiply(self._gradients, self._gradients, out=aside)
        aside *= np.float32(1 - group["alpha"])
        self._square *= np.float32(group["alpha"])
        self._square += aside
        if self._is_tensorflow_s:
            np.add(self._square, np.float32(group["eps"]), out=aside)
            np.sqrt(aside, out=aside)
        else:
            np.sqrt(self._square, out=aside)
            aside += np.float32(group["eps"])
        np.divide(self._gradients, aside, out=aside)
        aside *= np.float32(group["lr"])
        self._weights -= aside
        return length
