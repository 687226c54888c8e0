"""What a saved model takes along: schedules and layers that SB3 doesn't have.

Saved by value, so that a plain `PPO.load` reads the model where this program isn't.
"""

import sys
from bisect import bisect_right

import cloudpickle  # type: ignore[import-untyped]  # it has no types
import torch


class PiecewiseLinear:
    """A value over the progress of a run, as Stable-Baselines3 asks for it."""

    def __init__(self, points: tuple[tuple[float, float], ...]) -> None:
        self.progress = [progress for progress, _ in points]
        self.values = [value for _, value in points]

    def __call__(self, progress_remaining: float) -> float:
        """Return the value when this part of the budget is left."""
        done = 1.0 - progress_remaining
        after = bisect_right(self.progress, done)
        if after in (0, len(self.values)):
            return self.values[min(after, len(self.values) - 1)]
        left, right = self.progress[after - 1], self.progress[after]
        share = (done - left) / (right - left)
        return self.values[after - 1] + (self.values[after] - self.values[after - 1]) * share


def _scaled(inputs: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.layer_norm(inputs, inputs.shape[-1:])


class ScaledTanh(torch.nn.Tanh):
    """Layer normalisation without weights of its own, then tanh."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Scale, then bend."""
        return super().forward(_scaled(inputs))


class ScaledReLU(torch.nn.ReLU):
    """Layer normalisation without weights of its own, then ReLU."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Scale, then bend."""
        return super().forward(_scaled(inputs))


class ScaledELU(torch.nn.ELU):
    """Layer normalisation without weights of its own, then ELU."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Scale, then bend."""
        return super().forward(_scaled(inputs))


cloudpickle.register_pickle_by_value(sys.modules[__name__])
