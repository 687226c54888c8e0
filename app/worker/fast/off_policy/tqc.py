"""Truncated Quantile Critics that act and learn in NumPy."""

import numpy as np
import torch
from sb3_contrib import TQC

from app.worker.fast.flat import Array
from app.worker.fast.off_policy.soft import FastSoft

_AT_ONCE = 65_536
"""So many differences of quantiles at once stay in the processor's cache."""


class FastTQC(FastSoft, TQC):
    """SB3's TQC, and nothing of it different but the time it takes."""

    def _expect(self, outputs: Array) -> Array:
        """Believe all guesses but the most optimistic ones of all critics together."""
        guesses = np.sort(outputs.reshape(-1, outputs.shape[-1]), axis=0)
        dropped = self.top_quantiles_to_drop_per_net * len(outputs)
        return guesses[: len(guesses) - dropped]

    def _compare(self, outputs: Array, aims: Array) -> tuple[Array, float]:
        quantiles = outputs.shape[1]
        # A guess that is too low weighs as much as its quantile, one that is too high the rest.
        lopsided = (np.arange(quantiles, dtype=np.float32) + np.float32(0.5)) / quantiles - 0.5
        guesses = torch.from_numpy(outputs.reshape(-1, outputs.shape[-1]))
        slopes, loss = _huber(guesses, torch.from_numpy(np.tile(lopsided, len(outputs))), aims)
        count = max(1, outputs.size * len(aims))
        slopes *= np.float32(-1 / count)
        return slopes.reshape(outputs.shape), loss / count

    def _judge(self, inputs: Array, height: int) -> tuple[Array, Array]:
        network = self.network.critics.online
        outputs = network.forward(inputs)
        guesses = outputs.reshape(-1, outputs.shape[-1])
        values: Array = guesses.mean(axis=0)
        slopes = np.full_like(outputs, -1 / outputs.size)
        return network.pull_back(slopes, slice(height, None)), values


def _huber(guesses: torch.Tensor, lopsided: torch.Tensor, aims: Array) -> tuple[Array, float]:
    """Compare each guess with each aim; return sums of slopes and the sum of losses.

    With `c` a difference that is bounded by 1, its slope is `c / 2 + lopsided * |c|`, and its loss
    that slope times the difference without half of what is bounded.
    """
    slopes, loss = torch.empty_like(guesses), 0.0
    rows = max(1, _AT_ONCE // max(1, aims.size))
    wanted = torch.from_numpy(aims)
    for start in range(0, len(guesses), rows):
        part = slice(start, start + rows)
        differences = wanted - guesses[part, None]
        bounded = differences.clamp(-1.0, 1.0)
        each = bounded.abs().mul_(lopsided[part, None, None]).add_(bounded, alpha=0.5)
        torch.sum(each, dim=1, out=slopes[part])
        differences.sub_(bounded, alpha=0.5)
        loss += float(torch.dot(differences.ravel(), each.ravel()))
    return slopes.numpy(), loss
