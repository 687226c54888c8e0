"""Find the place from which a run goes on, and take back what came after it."""

from dataclasses import dataclass, replace

from app.environments.catalogue import get_environment
from app.training.feed import RECENT_LINES
from app.training.supervisor import judge
from storage import metrics
from storage.records import JsonObject, Progress, RunRecord
from storage.run_folder import CheckpointFile, RunFolder


@dataclass(frozen=True, slots=True)
class GoOn:
    """Where a run goes on, and what of it stays."""

    checkpoint: CheckpointFile | None
    """None: from the beginning."""
    run: RunRecord
    """The run as it was then."""
    lines: list[JsonObject]
    """The newest lines of metrics that stay."""
    dropped: int
    """How many lines were taken back."""
    broken: tuple[str, ...]
    """Checkpoints that could not be read."""


def go_on(run: RunRecord, folder: RunFolder) -> GoOn:
    """Choose the last good checkpoint and cut the metrics back to it."""
    broken: list[str] = []
    checkpoint = None
    for candidate in reversed(folder.checkpoints):
        if candidate.is_good():
            checkpoint = candidate
            break
        broken.append(candidate.path.name)
        candidate.remove()
    keep = int(checkpoint.facts()["lines"]) if checkpoint else 0
    dropped = metrics.cut_back(folder.metrics, keep)
    return GoOn(
        checkpoint=checkpoint,
        run=_as_it_was(run, folder, checkpoint),
        lines=metrics.tail_lines(folder.metrics, RECENT_LINES),
        dropped=dropped,
        broken=tuple(broken),
    )


def _as_it_was(run: RunRecord, folder: RunFolder, checkpoint: CheckpointFile | None) -> RunRecord:
    if checkpoint is None:
        return replace(run, progress=Progress(), latest=None)
    lines = metrics.read_lines(folder.metrics)
    last = lines[-1] if lines else {}
    progress = Progress(
        timesteps=checkpoint.timesteps,
        vec_steps=last.get("vec_steps", 0),
        updates=last.get("updates", 0),
        episodes=last.get("episode", 0),
        elapsed_s=last.get("elapsed_s", 0.0),
    )
    threshold = get_environment(run.env_id).solved_threshold
    return replace(run, progress=judge(progress, lines, threshold), latest=None)
