"""Requests for evaluations, their state and the statistics of their episodes."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from app.code_check import CodeKind, first_error
from app.core import CodeError, InputError, shorten
from app.protocol import SeedFamily, messages
from app.run_config import MAX_SEED
from app.statistics import mean_interval
from app.workers import Video
from storage.records import EventLevel

EPISODES = 20
MAX_EPISODES = 1_000
_ARTIFACT = re.compile(r"checkpoint-(\d{1,15})\.zip", re.ASCII)
MAX_EPISODES_WITH_CODE = 100
MIN_FINAL_EPISODES = 20
"""Number of episodes from which a final evaluation makes the score of a run."""


class EvaluationStatus(StrEnum):
    """The state of an evaluation."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self not in (EvaluationStatus.QUEUED, EvaluationStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """The options of an evaluation."""

    episodes: int = EPISODES
    seed: int | None = None
    """Seed of the first episode; each further episode adds 1. None: the first of its family."""
    seed_family: SeedFamily = SeedFamily.TEST
    """The family of seeds, if no seed is given."""
    deterministic: bool = True
    disturbances: bool = False
    """Whether the noise and the randomization of training apply, too."""
    checkpoint: int | str | None = None
    """The step of a checkpoint, or `best`; None means the newest policy."""
    record: bool = False
    """Whether to record a video."""
    code: str | None = None
    """Defines `evaluate(episode)`, whose results are added to the summary."""

    def __post_init__(self) -> None:
        if isinstance(self.checkpoint, str) and (named := _ARTIFACT.fullmatch(self.checkpoint)):
            # Accept the name that the list of artifacts shows.
            object.__setattr__(self, "checkpoint", int(named[1]))
        _check_number("episodes", self.episodes, 1, MAX_EPISODES)
        if self.seed is not None:
            _check_number("seed", self.seed, 0, MAX_SEED - MAX_EPISODES)
        if self.code is not None:
            _check_number("episodes", self.episodes, 1, MAX_EPISODES_WITH_CODE)

    @property
    def first_seed(self) -> int:
        """The seed of the first episode."""
        return self.seed_family.first_seed if self.seed is None else self.seed

    def check_code(self) -> None:
        """Check the code statically, without running it; this is slow for large files.

        Raises:
            CodeError: if it can't be parsed, or doesn't define `evaluate(episode)`.
        """
        problem = None if self.code is None else first_error(self.code, CodeKind.EVALUATION)
        if problem is not None:
            raise CodeError(problem.message, line=problem.line, field="code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """An evaluation of a policy: its progress and, once completed, its results."""

    id: str
    run_id: str
    kind: Literal["evaluation", "recording", "evolution"] = "evaluation"
    """A recording is one episode of the live view, while training continues; an evolution joins
    the clips of the time machine into one video."""
    status: EvaluationStatus = EvaluationStatus.COMPLETED
    error: str | None = None
    error_line: int | None = None
    """Line of the evaluation code that caused the error, if any."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    checkpoint: int | str | None = None
    timesteps: int | None = None
    """Number of steps the policy was trained for; None if unknown."""
    deterministic: bool = True
    record: bool = False
    pinned: bool = False
    """Whether its video is kept regardless of newer ones."""
    episodes: int
    played: int = 0
    """Number of episodes finished so far."""
    video: Video | None = None
    video_note: str | None = None
    """Reason why there is no video, or only part of one."""
    mean_return: float | None = None
    std_return: float | None = None
    """Sample standard deviation (n - 1); None for a single episode."""
    median_return: float | None = None
    ci95: tuple[float, float] | None = None
    """95 % confidence interval of the mean; None below three episodes, or if all are equal. In
    records of earlier versions a percentile bootstrap, which was too narrow for few episodes."""
    min: float | None = None
    max: float | None = None
    mean_length: float | None = None
    terminations: dict[str, int] | None = None
    """Number of terminated and of truncated episodes."""
    returns: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    step_limit: int | None = None
    """The step at which it cut episodes; None: the environment has a time limit."""
    cut: int = 0
    """Number of episodes that it cut."""
    successes: int | None = None
    """Number of episodes that reached the goal; None if the environment doesn't report it."""
    left_out: tuple[str, ...] = ()
    """Disturbances that were active in training and are disabled here."""
    disturbances: tuple[str, ...] = ()
    """Disturbances of training that are active here, too."""
    code: str | None = None
    custom: dict[str, float] | None = None
    """Mean over the episodes of each value the code returns."""
    custom_per_episode: dict[str, tuple[float, ...]] | None = None

    @property
    def seed_family(self) -> SeedFamily | None:
        """The family of its seeds; None if they belong to none, or there are several."""
        families = {SeedFamily.of(seed) for seed in (*self.seeds[:1], *self.seeds[-1:])}
        return families.pop() if len(families) == 1 else None

    @property
    def success_rate(self) -> float | None:
        """Fraction of the episodes that reached the goal, if the environment reports it."""
        return None if self.successes is None else self.successes / len(self.returns)

    @property
    def cut_in_words(self) -> str | None:
        """Say that episodes were cut; None if none were."""
        if self.step_limit is None or not self.cut:
            return None
        return f"{self.cut} cut at {self.step_limit:,} steps (the environment has no time limit)"

    @property
    def is_final(self) -> bool:
        """Whether its mean is the score of a run whose final policy it evaluated.

        No choice is left that could raise the score: the seeds are the same for every run. Nor
        does code of a user that could write it run in the same process.
        """
        first = SeedFamily.FINAL.first_seed
        is_plain = self.deterministic and not self.disturbances and self.code is None
        is_plain &= self.checkpoint is None
        is_long = self.seeds[:1] == (first,) and self.episodes >= MIN_FINAL_EPISODES
        return self.kind == "evaluation" and is_plain and is_long

    @property
    def has_video(self) -> bool:
        """Whether it has a video that still exists."""
        return self.video is not None and not self.video.is_removed

    @property
    def video_url(self) -> str | None:
        """URL of its video, if it has one."""
        url = f"/api/runs/{self.run_id}/evaluations/{self.id}/video"
        return url if self.has_video else None


def begin_evaluation(run_id: str, request: EvaluationRequest) -> Evaluation:
    """Return a queued evaluation."""
    return Evaluation(
        id=uuid4().hex,
        run_id=run_id,
        status=EvaluationStatus.QUEUED,
        created_at=datetime.now(UTC),
        checkpoint=request.checkpoint,
        deterministic=request.deterministic,
        record=request.record,
        code=request.code,
        episodes=request.episodes,
        seeds=tuple(request.first_seed + episode for episode in range(request.episodes)),
    )


def begin_recording(run_id: str) -> Evaluation:
    """Return a recording of the live view's next episode."""
    now = datetime.now(UTC)
    return Evaluation(
        id=uuid4().hex,
        run_id=run_id,
        kind="recording",
        status=EvaluationStatus.RUNNING,
        created_at=now,
        started_at=now,
        deterministic=False,
        record=True,
        episodes=1,
    )


def begin_evolution(run_id: str, clips: int) -> Evaluation:
    """Return a queued evolution video of this many clips."""
    return Evaluation(
        id=uuid4().hex,
        run_id=run_id,
        kind="evolution",
        status=EvaluationStatus.QUEUED,
        created_at=datetime.now(UTC),
        record=True,
        episodes=clips,
    )


def end_evaluation(
    evaluation: Evaluation, status: EvaluationStatus, error: str | None = None
) -> Evaluation:
    """Return the evaluation with a final status."""
    return replace(evaluation, status=status, error=error, finished_at=datetime.now(UTC))


def log_entry(ended: Evaluation) -> tuple[str, str, dict[str, Any]]:
    """Return the event type, text and further arguments that log the end of an evaluation."""
    event_type, name = f"{ended.kind}_{ended.status}", ended.kind.capitalize()
    match ended.status, ended.kind:
        case EvaluationStatus.FAILED, _:
            return event_type, f"{name} failed: {ended.error}", {"level": EventLevel.WARNING}
        case EvaluationStatus.CANCELLED, _:
            return event_type, f"{name} cancelled.", {}
        case _, "recording":
            return event_type, f"Recorded an episode: reward {ended.mean_return:,.1f}.", {}
        case _, "evolution":
            return event_type, f"The evolution video is ready: {ended.episodes} clips.", {}
    data = {"evaluation": ended.id, "mean_return": ended.mean_return}
    return event_type, f"Evaluation complete: {_mean_in_words(ended)}.", {"data": data}


def _mean_in_words(evaluation: Evaluation) -> str:
    mean = f"mean {evaluation.mean_return:,.1f}"
    if evaluation.ci95 is not None:
        low, high = evaluation.ci95
        mean += f" (95 % interval {low:,.1f} to {high:,.1f}) in {evaluation.episodes} episodes"
    return ", ".join(filter(None, [mean, evaluation.cut_in_words]))


def summarise(evaluation: Evaluation, found: messages.Evaluated) -> Evaluation:
    """Return the evaluation with the statistics of its episodes."""
    returns = np.asarray(found.returns, dtype=np.float64)
    has_spread = len(returns) > 1
    return replace(
        evaluation,
        played=len(returns),
        mean_return=float(returns.mean()),
        std_return=float(returns.std(ddof=1)) if has_spread else None,
        median_return=float(np.median(returns)),
        ci95=mean_interval(returns),
        min=float(returns.min()),
        max=float(returns.max()),
        mean_length=float(np.mean(found.lengths)),
        terminations={
            "terminated": len(returns) - found.truncated,
            "truncated": found.truncated,
        },
        returns=found.returns,
        lengths=found.lengths,
        step_limit=found.step_limit,
        cut=found.cut,
        successes=found.successes,
        **_custom(found),
    )


def _custom(found: messages.Evaluated) -> dict[str, Any]:
    if not found.custom:
        return {}
    by_name = {name: tuple(one[name] for one in found.custom) for name in found.custom[0]}
    means = {name: float(np.mean(values)) for name, values in by_name.items()}
    return {"custom": means, "custom_per_episode": by_name}


def _check_number(field: str, number: int, minimum: int, maximum: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not minimum <= number <= maximum:
        raise InputError(
            f"{field} must be a whole number from {minimum:,} to {maximum:,}, "
            f"got {shorten(number)}.",
            field=field,
        )
