"""Gather the content of a report; reads files, so run it on a thread."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from app.analysis.insights import Insight
from app.analysis.report.content import Fact, Points, Report, Video
from app.analysis.report.repeating import repeat_of
from app.run_config import environment_label, readable_config, settings_of
from storage.files import RunFolder
from storage.metrics import metrics
from storage.records import JsonObject, RunRecord

CURVES = {
    "reward": "Episode reward",
    "shaped_reward": "Shaped episode reward",
    "mean_reward": "Mean reward of 100 episodes",
    "episode_length": "Episode length",
    "loss": "Loss",
    "value_loss": "Value loss",
    "entropy": "Entropy",
    "approx_kl": "KL divergence per update",
    "explained_variance": "Explained variance",
    "exploration_rate": "Exploration rate",
    "fps": "Steps per second",
}
"""The curves of a report, in their order."""

_POINTS = 300
_DECIMALS = 4
_MAX_VIDEO_BYTES = 4 << 20

OnProgress = Callable[[float, str], None]
"""Receives the completed share of a report and the next action."""


def ignore_progress(share: float, what: str) -> None:
    """Ignore progress."""


def gather(
    run: RunRecord,
    folder: RunFolder,
    insights: Sequence[Insight],
    *,
    version: str,
    on_progress: OnProgress,
) -> Report:
    """Return the report of a run; blocks."""
    config = readable_config(run)
    on_progress(0.1, "Reading metrics")
    curves = _curves(folder)
    on_progress(0.6, "Reading evaluations")
    evaluations = [
        _without_details(found)
        for found in folder.evaluations_found()
        if found.get("mean_return") is not None
    ]
    on_progress(0.8, "Writing")
    return Report(
        made_at=_time(datetime.now(UTC)) or "",
        version=version,
        run=_describe(run),
        facts=_facts(run),
        insights=insights,
        config=settings_of(run),
        reward_code=config.reward_code if config else None,
        env_code=config.env_code if config else None,
        evaluations=evaluations,
        curves=curves,
        repeat=repeat_of(config) if config else None,
        video=_video(folder),
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
        "environment": environment_label(run),
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
        "score": (_score_label(run), run.score),
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


def _score_label(run: RunRecord) -> str:
    return "Score" if run.score_kind is None else f"Score ({run.score_kind.label})"


def _without_details(found: JsonObject) -> JsonObject:
    shown = ("id", "created_at", "timesteps", "checkpoint", "episodes", "seeds", "mean_return")
    more = ("std_return", "median_return", "ci95", "min", "max", "mean_length", "custom")
    return {name: _round(found.get(name)) for name in (*shown, *more)}


def _video(folder: RunFolder) -> Video | None:
    newest = folder.newest_video()
    with suppress(OSError):  # It may have been replaced by a newer one.
        if newest is not None and newest.stat().st_size <= _MAX_VIDEO_BYTES:
            return Video(evaluation=newest.stem, content=newest.read_bytes())
    return None


def _round(value: Any) -> Any:  # noqa: ANN401 - whatever was measured
    if isinstance(value, list | tuple):
        return [_round(one) for one in value]
    if isinstance(value, dict):
        return {name: _round(one) for name, one in value.items()}
    return round(value, _DECIMALS) if isinstance(value, float) else value


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")
