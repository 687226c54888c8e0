"""The versions of a run's model: the final one, the best one, and every checkpoint that is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from storage.errors import VersionNotFoundError
from storage.files.atomic import Artifact
from storage.files.checkpoint_files import CheckpointFile
from storage.files.run_folder import RunFolder
from storage.records.runs import RunRecord

Kind = Literal["final", "best", "checkpoint"]
Source = Literal["evaluation", "training"]

_JUDGED = b'"eval_timesteps"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A model as it was at some step."""

    name: str
    """How its file is called among the artifacts."""
    kind: Kind
    timesteps: int | None
    score: float | None
    """The mean return of its newest evaluation, or else the mean reward of 100 episodes then."""
    score_from: Source | None
    size: int
    pinned: bool = False

    @property
    def address(self) -> int | str | None:
        """What an evaluation calls it; None: the newest policy."""
        return {"best": "best", "checkpoint": self.timesteps}.get(self.kind)


class _Judged(msgspec.Struct, frozen=True):
    """What a line of metrics says about an evaluation beside training."""

    eval_timesteps: int
    eval_reward: float


_LINES = msgspec.json.Decoder(_Judged)


def versions_of(run: RunRecord, folder: RunFolder) -> list[Version]:
    """Return the versions of a run's model, newest first; it reads files."""
    files = folder.artifacts()
    scores = _evaluated(folder, is_judged=run.config.get("evaluate_every") is not None)
    found = [_checkpoint(file, files, scores) for file in reversed(folder.checkpoints)]
    found = [_of_file("best", folder, files, scores, None), *found]
    if run.status.is_over:
        last = (run.latest or {}).get("mean_reward")
        found = [_of_file("final", folder, files, scores, last), *found]
    return [version for version in found if version is not None]


def pin_version(folder: RunFolder, name: str, *, on: bool) -> None:
    """Keep a checkpoint for good, or let newer ones take its place.

    Raises:
        VersionNotFoundError: if there is none of this name.
    """
    for file in folder.checkpoints:
        if checkpoint_name(file) == name:
            folder.pin_checkpoint(file, on=on)
            return
    raise VersionNotFoundError(name)


def checkpoint_name(file: CheckpointFile) -> str:
    """Return how a checkpoint is called among the artifacts."""
    return f"checkpoint-{file.timesteps}.zip"


def _of_file(
    kind: Literal["final", "best"],
    folder: RunFolder,
    files: Mapping[str, Artifact],
    scores: Mapping[int, float],
    trained: float | None,
) -> Version | None:
    name, policy = {
        "final": ("model.zip", folder.policy),
        "best": ("best.zip", folder.best_policy),
    }[kind]
    if (file := files.get(name)) is None:
        return None
    step = folder.step_of(policy)
    score, source = _score(step, scores, trained)
    return Version(
        name=name, kind=kind, timesteps=step, score=score, score_from=source, size=file.size
    )


def _checkpoint(
    file: CheckpointFile, files: Mapping[str, Artifact], scores: Mapping[int, float]
) -> Version | None:
    name = checkpoint_name(file)
    try:
        facts = file.facts()
    except (OSError, msgspec.MsgspecError):
        return None  # A newer one just took its place.
    if name not in files:
        return None
    score, source = _score(file.timesteps, scores, facts.get("mean_reward"))
    return Version(
        name=name,
        kind="checkpoint",
        timesteps=file.timesteps,
        score=score,
        score_from=source,
        size=files[name].size,
        pinned=bool(facts.get("pinned")),
    )


def _score(
    step: int | None, scores: Mapping[int, float], trained: float | None
) -> tuple[float | None, Source | None]:
    if step is not None and step in scores:
        return scores[step], "evaluation"
    return trained, None if trained is None else "training"


def _evaluated(folder: RunFolder, *, is_judged: bool) -> dict[int, float]:
    """Return what evaluations say about the policies of some steps."""
    found = dict(_beside_training(folder.metrics)) if is_judged else {}
    for evaluation in folder.evaluations_found():
        step, mean = evaluation.get("timesteps"), evaluation.get("mean_return")
        if step is not None and mean is not None and evaluation.get("kind") == "evaluation":
            found[step] = mean
    return found


def _beside_training(path: Path) -> Sequence[tuple[int, float]]:
    try:
        with path.open("rb") as file:
            lines = [raw for raw in file if _JUDGED in raw and raw.endswith(b"\n")]
    except FileNotFoundError:
        return []
    judged = [_LINES.decode(raw) for raw in lines]
    return [(line.eval_timesteps, line.eval_reward) for line in judged]
