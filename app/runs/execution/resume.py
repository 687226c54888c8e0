"""Choose the checkpoint from which a run resumes, and truncate what came after it."""

from dataclasses import dataclass, replace

from app.runs.state import RECENT_LINES, progress_after
from storage.database import sketch
from storage.files import CheckpointFile, ClipFiles, RunFolder, SnapshotFiles
from storage.metrics import metrics
from storage.records import JsonObject, Progress, RunRecord


class NoGoodCheckpointError(Exception):
    """The run has no readable checkpoint to resume from."""

    def __init__(self) -> None:
        super().__init__("None of its checkpoints can be read.")


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The checkpoint from which a run resumes, and the state of the run there."""

    checkpoint: CheckpointFile
    run: RunRecord
    """The run with its progress at the checkpoint."""
    lines: list[JsonObject]
    """The newest lines of metrics up to the checkpoint."""
    dropped: int
    """Number of lines after the checkpoint, which were removed."""
    broken: tuple[str, ...]
    """Checkpoints that could not be read."""
    unreadable: int
    """Number of remaining lines of metrics that can't be read."""


def rewind(run: RunRecord, folder: RunFolder) -> ResumePoint:
    """Choose the last readable checkpoint and truncate metrics, clips and snapshots to it.

    Raises:
        NoGoodCheckpointError: if there is none; then no file is changed.
    """
    newest_first = folder.checkpoints[::-1]
    good = next((i for i, candidate in enumerate(newest_first) if candidate.is_intact()), None)
    if good is None:
        raise NoGoodCheckpointError
    checkpoint, broken = newest_first[good], newest_first[:good]
    for candidate in broken:
        candidate.remove()
    ClipFiles(folder.clips_path).cut_back(checkpoint.timesteps)
    SnapshotFiles(folder.snapshots_path).cut_back(checkpoint.timesteps)
    dropped = metrics.cut_back(folder.metrics, int(checkpoint.facts()["lines"]))
    return ResumePoint(
        checkpoint=checkpoint,
        run=_run_at(run, folder, checkpoint),
        lines=metrics.tail_lines(folder.metrics, RECENT_LINES),
        dropped=dropped,
        broken=tuple(candidate.path.name for candidate in broken),
        unreadable=metrics.count_unreadable(folder.metrics),
    )


def _run_at(run: RunRecord, folder: RunFolder, checkpoint: CheckpointFile) -> RunRecord:
    lines = metrics.read_lines(folder.metrics)
    last = lines[-1] if lines else {}
    progress = Progress(
        timesteps=checkpoint.timesteps,
        vec_steps=last.get("vec_steps", 0),
        updates=last.get("updates", 0),
        episodes=last.get("episode", 0),
        elapsed_s=last.get("elapsed_s", 0.0),
    )
    known = run.progress
    if known.solved_at is not None and known.solved_at <= checkpoint.timesteps:
        progress = replace(progress, solved_at=known.solved_at, solved_by=known.solved_by)
    return replace(run, progress=progress_after(progress, lines), latest=None, sketch=sketch(lines))
