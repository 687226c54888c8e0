"""The versions of a run's model: the final one, the best one, and every stored checkpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from app.evaluation import Evaluation, EvaluationStatus
from app.protocol import SeedFamily
from app.run_config import readable_config
from storage import VersionNotFoundError
from storage.files import Artifact, CheckpointFile, RunFolder
from storage.records import RunRecord

Kind = Literal["final", "best", "checkpoint"]
Source = Literal["evaluation", "selection", "training"]

BEST = "best"
_EVALUATED = b'"eval_timesteps"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A stored model of a run at some step."""

    name: str
    """The name of its file among the artifacts."""
    kind: Kind
    timesteps: int | None
    score: float | None
    """Mean return of its most reliable evaluation, else the mean reward of 100 episodes."""
    score_from: Source | None
    """`selection`: only the periodic evaluation that selected it, which overstates it."""
    size: int
    pinned: bool = False

    @property
    def address(self) -> int | str | None:
        """The `checkpoint` of an `EvaluationRequest` for it; None means the newest policy."""
        return {"best": BEST, "checkpoint": self.timesteps}.get(self.kind)


class _Evaluated(msgspec.Struct, frozen=True):
    """The fields of a line of metrics that describe a periodic evaluation."""

    eval_timesteps: int
    eval_reward: float


_LINES = msgspec.json.Decoder(_Evaluated)


def versions_of(
    run: RunRecord, folder: RunFolder, evaluations: Sequence[Evaluation]
) -> list[Version]:
    """Return the versions of a run's model, newest first; `evaluations` must be, too."""
    files = folder.artifacts()
    config = readable_config(run)
    is_evaluated = config is not None and config.evaluate_every is not None
    periodic = dict(periodic_evaluations(folder.metrics)) if is_evaluated else {}
    has_reward = config is not None and config.reward_code is not None
    of_best, of_others = (
        _evaluation_scores(evaluations, is_best=is_best, has_reward=has_reward)
        for is_best in (True, False)
    )
    scores = periodic | of_others
    found = [_checkpoint(file, files, scores) for file in reversed(folder.checkpoints)]
    best = _of_file("best", folder, files, periodic | of_best, None)
    if best is not None and best.timesteps in periodic and best.timesteps not in of_best:
        best = replace(best, score_from="selection")
    found = [best, *found]
    if run.status.is_over:
        last = (run.latest or {}).get("mean_reward")
        found = [_of_file("final", folder, files, scores, last), *found]
    return [version for version in found if version is not None]


def evaluations_of(
    step: int | None, evaluations: Sequence[Evaluation], *, is_best: bool
) -> list[Evaluation]:
    """Return the completed evaluations of one policy, in their order.

    The best policy is that of a periodic evaluation, possibly in the middle of a rollout: the
    final policy or a checkpoint of the same step may have other weights.
    """
    return [
        one
        for one in evaluations
        if one.status is EvaluationStatus.COMPLETED
        and one.kind == "evaluation"
        and one.returns
        and step is not None
        and one.timesteps == step
        and (one.checkpoint == BEST) == is_best
    ]


def choose_evaluation(own: Sequence[Evaluation], *, has_reward: bool) -> Evaluation | None:
    """Return the most reliable of a policy's evaluations, which must be newest first.

    A final evaluation leaves no choice that could raise its mean. Next are those whose numbers
    no code of a user could write. Disturbances then count most: with them it is another task.
    """

    def preference(one: Evaluation) -> tuple[bool, ...]:
        return (
            not one.is_final,
            _ran_code(one, has_reward=has_reward),
            bool(one.disturbances),
            not one.deterministic,
            one.seed_family is SeedFamily.SELECTION,
        )

    return min(own, key=preference, default=None)


def _ran_code(one: Evaluation, *, has_reward: bool) -> bool:
    """Return whether code of a user ran in the process that measured the returns.

    A custom reward runs where a video is recorded, to show its terms, but not on final seeds.
    """
    is_score = bool(one.seeds) and SeedFamily.of(one.seeds[0]) is SeedFamily.FINAL
    return one.code is not None or (has_reward and one.record and not is_score)


def pin_version(folder: RunFolder, name: str, *, on: bool) -> None:
    """Pin a checkpoint, or unpin it so that newer ones may replace it.

    Raises:
        VersionNotFoundError: if there is no checkpoint of this name.
    """
    for file in folder.checkpoints:
        if checkpoint_name(file) == name:
            folder.pin_checkpoint(file, on=on)
            return
    raise VersionNotFoundError(name)


def periodic_evaluations(path: Path) -> Sequence[tuple[int, float]]:
    """Return the step and the mean return of every periodic evaluation in a file of metrics."""
    try:
        with path.open("rb") as file:
            lines = [raw for raw in file if _EVALUATED in raw and raw.endswith(b"\n")]
    except FileNotFoundError:
        return []
    evaluated = [_LINES.decode(raw) for raw in lines]
    return [(line.eval_timesteps, line.eval_reward) for line in evaluated]


def checkpoint_name(file: CheckpointFile) -> str:
    """Return the name of a checkpoint among the artifacts."""
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
        return None  # It was just replaced by a newer one.
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


def _evaluation_scores(
    evaluations: Sequence[Evaluation], *, is_best: bool, has_reward: bool
) -> dict[int, float]:
    """Return the mean return of the evaluation to choose for each step."""
    found = dict[int, float]()
    for step in {one.timesteps for one in evaluations}:
        own = evaluations_of(step, evaluations, is_best=is_best)
        chosen = choose_evaluation(own, has_reward=has_reward)
        if step is not None and chosen is not None and chosen.mean_return is not None:
            found[step] = chosen.mean_return
    return found
