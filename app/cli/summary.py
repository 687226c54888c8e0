"""The results of a training, per seed and in total."""

from collections.abc import Sequence
from statistics import mean, stdev

from app.cli.console import duration, number, table
from app.run_config import seed_of
from app.runs import scores_of_one_kind
from storage.records import RunRecord

_TITLES = ("run", "seed", "status", "steps", "time", "score", "kind")


def summary(runs: Sequence[RunRecord]) -> str:
    """Return a table of the runs, their mean, and their errors."""
    parts = ["", table(_TITLES, [_row(run) for run in runs])]
    if len(runs) > 1:
        parts.append(_total(runs))
    parts += [f"Run {run.id[:8]} {run.status}: {run.error}" for run in runs if run.error]
    trained = [run for run in runs if run.progress.timesteps and run.error is None]
    if trained:
        parts.append(f"Evaluate it: python main.py evaluate {trained[0].id[:8]}")
    return "\n".join(parts)


def _row(run: RunRecord) -> tuple[str, ...]:
    done = run.progress
    return (
        run.id,
        str(seed_of(run)),
        run.status,
        f"{done.timesteps:,}",
        duration(done.elapsed_s),
        number(run.score),
        run.score_kind.label if run.score_kind else "-",
    )


def _total(runs: Sequence[RunRecord]) -> str:
    scores, kind = scores_of_one_kind(runs)
    steps = sum(run.progress.timesteps for run in runs)
    time = duration(sum(run.progress.elapsed_s for run in runs))
    spread = f" ± {number(stdev(scores))}" if len(scores) > 1 else ""
    average = f"{number(mean(scores))}{spread}" if scores else number(None)
    seeds = f"{len(scores)} of {len(runs)} seeds"
    return f"Together: mean score ({kind.label}) {average} over {seeds}, {steps:,} steps, {time}."
