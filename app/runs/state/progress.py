"""Derive the progress of a run from its lines of metrics."""

from collections.abc import Iterable
from dataclasses import replace

from storage.records import JsonObject, Progress

_FULL_WINDOW = 100


def progress_after(progress: Progress, lines: Iterable[JsonObject]) -> Progress:
    """Return `progress` with the best mean reward and the evaluations updated from `lines`."""
    best, best_evaluation = progress.best, progress.best_evaluation
    last_evaluation = progress.last_evaluation
    for line in lines:
        if (evaluated := line.get("eval_reward")) is not None:
            best_evaluation, last_evaluation = _higher(best_evaluation, evaluated), evaluated
        if (mean := line.get("mean_reward")) is not None and line["episode"] >= _FULL_WINDOW:
            best = _higher(best, mean)
    return replace(
        progress, best=best, best_evaluation=best_evaluation, last_evaluation=last_evaluation
    )


def _higher(known: float | None, new: float) -> float:
    return new if known is None else max(known, new)
