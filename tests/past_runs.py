"""Runs that seem to be trained, with scores chosen by a test."""

from collections.abc import Sequence
from typing import Any

from storage.database import runs
from storage.database.database import open_database
from storage.files.lab_folder import LabFolder
from storage.metrics.metrics import MetricsWriter
from storage.records.runs import Progress, RunStatus
from tests.lab_server import LabServer

_STATUSES = (RunStatus.QUEUED, RunStatus.STARTING, RunStatus.RUNNING, RunStatus.COMPLETED)


def line(step: int, score: float, *, every: int = 100, n_envs: int = 1) -> dict[str, Any]:
    """Return the line of metrics of an episode that ends at a step."""
    return {
        "t": "2026-01-01T00:00:00.000Z",
        "timesteps": step,
        "vec_steps": step // n_envs,
        "updates": step // 500,
        "episode": step // every,
        "elapsed_s": step / 1_000,
        "reward": score,
        "episode_length": every,
        "mean_reward": score,
    }


def climb(to: float, *, steps: int = 2_000, every: int = 100) -> list[dict[str, Any]]:
    """Return the metrics of a run whose reward rises linearly."""
    return [line(step, to * step / steps, every=every) for step in range(every, steps + 1, every)]


def train(server: LabServer, lines: Sequence[dict[str, Any]], **options: Any) -> str:
    """Create a completed run with these metrics and return its id."""
    run_id: str = server.create(**options)["id"]
    finish(server, {run_id: lines})
    return run_id


def train_group(server: LabServer, scores: Sequence[float], **options: Any) -> str:
    """Create a completed group whose seeds end at these scores and return its id."""
    group = server.create(seeds=list(range(len(scores))), **options)
    ids = [run["id"] for run in group["runs"]]
    finish(server, {run_id: climb(to) for run_id, to in zip(ids, scores, strict=True)})
    group_id: str = group["group_id"]
    return group_id


def finish(server: LabServer, lines_by_run: dict[str, Sequence[dict[str, Any]]]) -> None:
    """Complete runs that were only created, with these metrics."""
    folder = LabFolder(server.folder)
    database = open_database(folder.database)
    try:
        for run_id, lines in lines_by_run.items():
            writer = MetricsWriter(folder.run(run_id).metrics)
            writer.append(lines)
            writer.close()
            _end(run_id, lines)
    finally:
        database.close()


def _end(run_id: str, lines: Sequence[dict[str, Any]]) -> None:
    last = lines[-1]
    progress = Progress(
        timesteps=last["timesteps"],
        vec_steps=last["vec_steps"],
        updates=last["updates"],
        episodes=last["episode"],
        elapsed_s=last["elapsed_s"],
        best=max(one["mean_reward"] or 0 for one in lines),
    )
    runs.save_progress(run_id, progress, last)
    for status in _STATUSES:
        runs.change_status(run_id, status)
