"""Truncated Quantile Critics that act and learn in NumPy."""

import numpy as np
import torch
from sb3_contrib import TQC

from app.worker.fast.flat import Array
from app.worker.fast.off_policy.soft import FastSoft

_CHUNK_SIZE = 65_536
"""Number of quantile differences computed at once; they fit in the processor's cache."""


class FastTQC(FastSoft, TQC):
    """SB3's TQC, computed by the fast engine."""

    def _next_values(self, outputs: Array) -> Array:
        # The quantiles of all critics together, without the highest ones.
        quantiles = np.sort(outputs.reshape(-1, outputs.shape[-1]), axis=0)
        dropped = self.top_quantiles_to_drop_per_net * len(outputs)
        return quantiles[: len(quantiles) - dropped]

    def _critic_gradients(self, outputs: Array, targets: Array) -> tuple[Array, float]:
        count = outputs.shape[1]
        # The quantile loss: underestimates are weighted by the fraction, overestimates by the rest.
        weights = (np.arange(count, dtype=np.float32) + np.float32(0.5)) / count - 0.5
        quantiles = torch.from_numpy(outputs.reshape(-1, outputs.shape[-1]))
        all_weights = torch.from_numpy(np.tile(weights, len(outputs)))
        gradients, loss = _quantile_huber(quantiles, all_weights, targets)
        pairs = max(1, outputs.size * len(targets))
        gradients *= np.float32(-1 / pairs)
        return gradients.reshape(outputs.shape), loss / pairs

    def _action_gradients(self, inputs: Array, obs_size: int) -> tuple[Array, Array]:
        critics = self.network.critics.online
        outputs = critics.forward(inputs)
        values: Array = outputs.reshape(-1, outputs.shape[-1]).mean(axis=0)
        gradients = np.full_like(outputs, -1 / outputs.size)
        return critics.input_gradients(gradients, slice(obs_size, None)), values


def _quantile_huber(
    quantiles: torch.Tensor, weights: torch.Tensor, targets: Array
) -> tuple[Array, float]:
    """Compare each quantile with each target; return summed gradients and the summed loss.

    With `c` a difference clipped to [-1, 1], its gradient is `c / 2 + weight * |c|`, and its loss
    is that gradient times (the difference minus `c / 2`).
    """
    gradients, loss = torch.empty_like(quantiles), 0.0
    rows = max(1, _CHUNK_SIZE // max(1, targets.size))
    target_values = torch.from_numpy(targets)
    for start in range(0, len(quantiles), rows):
        part = slice(start, start + rows)
        differences = target_values - quantiles[part, None]
        clipped = differences.clamp(-1.0, 1.0)
        each = clipped.abs().mul_(weights[part, None, None]).add_(clipped, alpha=0.5)
        torch.sum(each, dim=1, out=gradients[part])
        differences.sub_(clipped, alpha=0.5)
        loss += float(torch.dot(differences.ravel(), each.ravel()))
    return gradients.numpy(), loss
