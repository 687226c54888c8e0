"""Find the place from which a run goes on, and take back what came after it."""

from dataclasses import dataclass, replace

from app.catalog.environments.catalogue import environment_of_run
from app.runs.execution.supervisor import judge
from app.runs.state.feed import RECENT_LINES
from storage.database.sketches import sketch
from storage.files.checkpoint_files import CheckpointFile
from storage.files.clip_files import ClipFiles
from storage.files.fork_files import ForkFiles
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.records.runs import JsonObject, Progress, RunRecord


class NoGoodCheckpointError(Exception):
    """There is no place from which the run could go on."""

    def __init__(self) -> None:
        super().__init__("None of its checkpoints can be read.")


@dataclass(frozen=True, slots=True)
class GoOn:
    """Where a run goes on, and what of it stays."""

    checkpoint: CheckpointFile
    run: RunRecord
    """The run as it was then."""
    lines: list[JsonObject]
    """The newest lines of metrics that stay."""
    dropped: int
    """How many lines were taken back."""
    broken: tuple[str, ...]
    """Checkpoints that could not be read."""
    unreadable: int
    """How many lines of metrics that stay can't be read."""


def go_on(run: RunRecord, folder: RunFolder) -> GoOn:
    """Choose the last good checkpoint and cut metrics, clips and forks back to it.

    Raises:
        NoGoodCheckpointError: if there is none; then nothing is touched.
    """
    newest_first = folder.checkpoints[::-1]
    good = next((i for i, candidate in enumerate(newest_first) if candidate.is_good()), None)
    if good is None:
        raise NoGoodCheckpointError
    checkpoint, broken = newest_first[good], newest_first[:good]
    for candidate in broken:
        candidate.remove()
    ClipFiles(folder.clips_path).cut_back(checkpoint.timesteps)
    ForkFiles(folder.forks_path).cut_back(checkpoint.timesteps)
    dropped = metrics.cut_back(folder.metrics, int(checkpoint.facts()["lines"]))
    return GoOn(
        checkpoint=checkpoint,
        run=_as_it_was(run, folder, checkpoint),
        lines=metrics.tail_lines(folder.metrics, RECENT_LINES),
        dropped=dropped,
        broken=tuple(candidate.path.name for candidate in broken),
        unreadable=metrics.count_unreadable(folder.metrics),
    )


def _as_it_was(run: RunRecord, folder: RunFolder, checkpoint: CheckpointFile) -> RunRecord:
    lines = metrics.read_lines(folder.metrics)
    last = lines[-1] if lines else {}
    progress = Progress(
        timesteps=checkpoint.timesteps,
        vec_steps=last.get("vec_steps", 0),
        updates=last.get("updates", 0),
        episodes=last.get("episode", 0),
        elapsed_s=last.get("elapsed_s", 0.0),
    )
    threshold = environment_of_run(run.env_id, run.config.get("env_kwargs")).solved_threshold
    return replace(
        run, progress=judge(progress, lines, threshold), latest=None, sketch=sketch(lines)
    )
