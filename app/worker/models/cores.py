"""On how many cores a model learns: what is faster in a short try.

Only where it looks at pictures. Small layers don't gain from a second core, and how products are
shared out changes the last digits, so that all other runs stay the same on every machine.
"""

import os
import time

import torch
from stable_baselines3.common.base_class import BaseAlgorithm

_WORTH_IT = 1.15
"""How much faster more cores must be: less is noise, and others may want them."""
_BATCH = 64
_PASSES = 3


def settle_threads(model: BaseAlgorithm) -> str | None:
    """Learn on as many cores as are worth it; return what was found if it is more than one."""
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or not _looks_at_pictures(model):
        return None
    alone, together = _seconds(model, 1), _seconds(model, cores)
    if together * _WORTH_IT > alone:
        torch.set_num_threads(1)
        return None
    return f"Learns on {cores} cores: {alone / together:.1f} times as fast in a short try."


def _looks_at_pictures(model: BaseAlgorithm) -> bool:
    return any(isinstance(layer, torch.nn.Conv2d) for layer in model.policy.modules())


def _seconds(model: BaseAlgorithm, threads: int) -> float:
    """Return how long the policy takes to look and to learn, without changing it."""
    torch.set_num_threads(threads)
    seen = torch.zeros((_BATCH, *(model.observation_space.shape or ())))
    layers = next(part for part in model.policy.modules() if hasattr(part, "cnn"))
    layers(seen).sum().backward()  # the first time takes longer
    began = time.perf_counter()
    for _ in range(_PASSES):
        layers(seen).sum().backward()
    took = time.perf_counter() - began
    model.policy.zero_grad()
    return took
