"""Derive the progress of a run from its lines of metrics."""

from collections.abc import Iterable
from dataclasses import replace

from storage.records import JsonObject, Progress

_SOLVED_OVER = 100


def progress_after(
    progress: Progress, lines: Iterable[JsonObject], threshold: float | None
) -> Progress:
    """Return `progress` with best scores and the step of solving updated from `lines`."""
    best, solved_at, best_evaluation = progress.best, progress.solved_at, progress.best_evaluation
    for line in lines:
        best_evaluation = max_measured(best_evaluation, line.get("eval_reward"))
        mean = line.get("mean_reward")
        if mean is None or line["episode"] < _SOLVED_OVER:
            continue
        best = max_measured(best, mean)
        if solved_at is None and threshold is not None and mean >= threshold:
            solved_at = line["timesteps"]
    return replace(progress, best=best, solved_at=solved_at, best_evaluation=best_evaluation)


def max_measured(one: float | None, other: float | None) -> float | None:
    """Return the larger of two numbers; None: not measured."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
