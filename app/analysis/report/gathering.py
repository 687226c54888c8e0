"""Bring together what a report says; it reads files and belongs on a thread."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from app.analysis.insights.insight import Insight
from app.analysis.report.content import Clip, Fact, Points, Report
from app.analysis.report.repeating import how_to_repeat
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.records.runs import JsonObject, RunRecord

CURVES = {
    "reward": "Reward of an episode",
    "shaped_reward": "Shaped reward of an episode",
    "mean_reward": "Mean reward of 100 episodes",
    "episode_length": "Length of an episode",
    "loss": "Loss",
    "value_loss": "Value loss",
    "entropy": "Entropy",
    "approx_kl": "KL divergence per update",
    "explained_variance": "Explained variance",
    "exploration_rate": "Exploration rate",
    "fps": "Steps per second",
}
"""The curves that a report may have, in their order."""

_POINTS = 300
_DECIMALS = 4
_LARGEST_CLIP = 4 << 20

Told = Callable[[float, str], None]
"""Hears how much of a report is done, and what comes next."""


def tell_nobody(share: float, what: str) -> None:
    """Keep it to oneself."""


def gather(
    run: RunRecord,
    folder: RunFolder,
    insights: Sequence[Insight],
    *,
    version: str,
    told: Told,
) -> Report:
    """Return what there is to say about a run."""
    told(0.1, "Reading metrics")
    curves = _curves(folder)
    told(0.6, "Reading evaluations")
    evaluations = [
        _without_details(found)
        for found in folder.evaluations_found()
        if found.get("mean_return") is not None
    ]
    told(0.8, "Writing")
    return Report(
        made_at=_time(datetime.now(UTC)) or "",
        version=version,
        run=_describe(run),
        facts=_facts(run),
        insights=insights,
        config=run.config,
        evaluations=evaluations,
        curves=curves,
        repeat=how_to_repeat(run.config),
        clip=_clip(folder),
    )


def _curves(folder: RunFolder) -> dict[str, Points]:
    lines = metrics.read_lines(folder.metrics)
    thinned = metrics.downsample(lines, max_points=_POINTS, names=CURVES)
    found: dict[str, Points] = {}
    for name in CURVES:
        points = [(line["timesteps"], _round(line[name])) for line in thinned if name in line]
        if len(points) > 1:
            found[name] = points
    return found


def _describe(run: RunRecord) -> JsonObject:
    return {
        "id": run.id,
        "name": run.name,
        "env_id": run.env_id,
        "algorithm": run.algorithm,
        "status": run.status.value,
        "error": run.error,
        "notes": run.notes,
        "tags": list(run.tags),
        "created_at": _time(run.created_at),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
    }


def _facts(run: RunRecord) -> list[Fact]:
    done, latest = run.progress, run.latest or {}
    values = {
        "timesteps": ("Steps", done.timesteps),
        "total_timesteps": ("Budget", run.total_timesteps),
        "episodes": ("Episodes", done.episodes),
        "updates": ("Updates", done.updates),
        "elapsed_s": ("Seconds of training", done.elapsed_s),
        "mean_reward": ("Mean reward of the last 100 episodes", latest.get("mean_reward")),
        "best": ("Best mean reward of 100 episodes", done.best),
        "solved_at": ("Solved at step", done.solved_at),
        "mean_length": ("Mean length of the last 100 episodes", latest.get("mean_length")),
        "loss": ("Last loss", latest.get("loss")),
        "fps": ("Last steps per second", latest.get("fps")),
    }
    return [
        Fact(name=name, label=label, value=_round(value)) for name, (label, value) in values.items()
    ]


def _without_details(found: JsonObject) -> JsonObject:
    shown = ("id", "created_at", "timesteps", "checkpoint", "episodes", "mean_return")
    more = ("std_return", "median_return", "ci95", "min", "max", "mean_length", "custom")
    return {name: _round(found.get(name)) for name in (*shown, *more)}


def _clip(folder: RunFolder) -> Clip | None:
    newest = folder.newest_clip()
    with suppress(OSError):  # Newer ones may have taken its place.
        if newest is not None and newest.stat().st_size <= _LARGEST_CLIP:
            return Clip(evaluation=newest.stem, content=newest.read_bytes())
    return None


def _round(value: Any) -> Any:  # noqa: ANN401 - whatever was measured
    if isinstance(value, list | tuple):
        return [_round(one) for one in value]
    if isinstance(value, dict):
        return {name: _round(one) for name, one in value.items()}
    return round(value, _DECIMALS) if isinstance(value, float) else value


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")
