"""Schedules and layers that SB3 does not have.

Pickled by value, so that a plain `PPO.load` can read a saved model without this program.
"""

import sys
from bisect import bisect_right

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import torch


class PiecewiseLinear:
    """A piecewise linear schedule with Stable-Baselines3's signature."""

    def __init__(self, points: tuple[tuple[float, float], ...]) -> None:
        self.progress = [progress for progress, _ in points]
        self.values = [value for _, value in points]

    def __call__(self, progress_remaining: float) -> float:
        """Return the value when this fraction of the budget remains."""
        done = 1.0 - progress_remaining
        after = bisect_right(self.progress, done)
        if after in (0, len(self.values)):
            return self.values[min(after, len(self.values) - 1)]
        left, right = self.progress[after - 1], self.progress[after]
        share = (done - left) / (right - left)
        return self.values[after - 1] + (self.values[after] - self.values[after - 1]) * share


def _normalize(inputs: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(inputs, inputs.shape[-1:])


class ScaledTanh(torch.nn.Tanh):
    """Layer normalization without weights, then tanh."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Normalize, then apply the activation."""
        return super().forward(_normalize(inputs))


class ScaledReLU(torch.nn.ReLU):
    """Layer normalization without weights, then ReLU."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Normalize, then apply the activation."""
        return super().forward(_normalize(inputs))


class ScaledELU(torch.nn.ELU):
    """Layer normalization without weights, then ELU."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Normalize, then apply the activation."""
        return super().forward(_normalize(inputs))


cloudpickle.register_pickle_by_value(sys.modules[__name__])
