"""Choose by a short benchmark on how many cores a model learns.

Only for image observations. Small layers don't gain from a second core, and the distribution of
matrix products changes the last digits: other runs give the same results on every machine.
"""

import os
import time

import torch
from stable_baselines3.common.base_class import BaseAlgorithm

_MIN_SPEEDUP = 1.15
"""The minimum speedup that justifies more cores: less may be noise, and others may need them."""
_BATCH = 64
_PASSES = 3


def choose_threads(model: BaseAlgorithm) -> str | None:
    """Set the number of torch's threads; return a message if it may differ from run to run."""
    cores = len(os.sched_getaffinity(0))
    if cores == 1 or not _uses_images(model):
        return None
    one_core, all_cores = _seconds(model, 1), _seconds(model, cores)
    speedup = one_core / all_cores
    used = cores if speedup >= _MIN_SPEEDUP else 1
    torch.set_num_threads(used)
    return (
        f"Training on {used} of {cores} cores: all were {speedup:.1f} times as fast in a short "
        "benchmark. A run on another number of cores has other rounding errors."
    )


def _uses_images(model: BaseAlgorithm) -> bool:
    return any(isinstance(layer, torch.nn.Conv2d) for layer in model.policy.modules())


def _seconds(model: BaseAlgorithm, threads: int) -> float:
    """Return the duration of forward and backward passes, without changing the policy."""
    torch.set_num_threads(threads)
    inputs = torch.zeros((_BATCH, *(model.observation_space.shape or ())))
    extractor = next(part for part in model.policy.modules() if hasattr(part, "cnn"))
    extractor(inputs).sum().backward()  # warm-up
    began = time.perf_counter()
    for _ in range(_PASSES):
        extractor(inputs).sum().backward()
    duration = time.perf_counter() - began
    model.policy.zero_grad()
    return duration
