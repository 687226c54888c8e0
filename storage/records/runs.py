"""Records of runs: plain frozen values shared by all layers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T")

JsonObject = Mapping[str, Any]
"""A decoded JSON object: the one place where values have no fixed shape."""


class RunStatus(StrEnum):
    """The state of a run; its transitions are in `ALLOWED_TRANSITIONS`."""

    CREATED = "created"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def is_active(self) -> bool:
        """Whether a worker owns the run, or it is queued for one."""
        return self is RunStatus.QUEUED or self.has_worker

    @property
    def has_worker(self) -> bool:
        """Whether a worker owns the run right now."""
        return self in WITH_WORKER

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self in FINAL_STATUSES


WITH_WORKER = frozenset({RunStatus.STARTING, RunStatus.RUNNING, RunStatus.PAUSED})

FINAL_STATUSES = frozenset(
    {RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.FAILED, RunStatus.INTERRUPTED}
)

ALLOWED_TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.CREATED: frozenset({RunStatus.QUEUED, RunStatus.STOPPED}),
    RunStatus.QUEUED: frozenset({RunStatus.STARTING, RunStatus.STOPPED}),
    RunStatus.STARTING: FINAL_STATUSES | {RunStatus.RUNNING},
    RunStatus.RUNNING: FINAL_STATUSES | {RunStatus.PAUSED},
    RunStatus.PAUSED: FINAL_STATUSES | {RunStatus.RUNNING},
    # Ended runs can be resumed: stopped and failed ones as they are, completed ones if extended.
    RunStatus.COMPLETED: frozenset({RunStatus.QUEUED}),
    RunStatus.STOPPED: frozenset({RunStatus.QUEUED}),
    RunStatus.FAILED: frozenset({RunStatus.QUEUED}),
    RunStatus.INTERRUPTED: frozenset({RunStatus.QUEUED}),
}


class EventLevel(StrEnum):
    """The severity of an event."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ScoreKind(StrEnum):
    """How a run's score was obtained, best first."""

    FINAL_EVALUATION = "final_evaluation"
    """The final policy's mean return on the final seeds."""
    LAST_EVALUATION = "last_evaluation"
    """The mean return of the last periodic evaluation."""
    BEST_EVALUATION = "best_evaluation"
    """The highest of all periodic evaluations; only runs of earlier versions."""
    TRAINING_MEAN = "training_mean"
    """The last mean over 100 training episodes, with exploration."""

    @property
    def label(self) -> str:
        """The words for it on screen."""
        return self.value.replace("_", " ")


class SolvedBy(StrEnum):
    """How a run was found to have solved its environment."""

    EVALUATIONS = "evaluations"
    """Consecutive periodic evaluations, confirmed on other seeds."""
    TRAINING_MEAN = "training_mean"
    """The mean over 100 training episodes, or one repeated evaluation; earlier versions only."""


class Visibility(StrEnum):
    """Who sees a run in addition to its owner, the users it is shared with and administrators."""

    PRIVATE = "private"
    EVERYONE = "everyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The newest reported progress of a run."""

    timesteps: int = 0
    vec_steps: int = 0
    updates: int = 0
    episodes: int = 0
    elapsed_s: float = 0.0
    best: float | None = None
    """The best mean reward over 100 episodes so far."""
    solved_at: int | None = None
    """The step of the policy that was found to solve the environment."""
    solved_by: SolvedBy | None = None
    best_evaluation: float | None = None
    """The best mean return of a periodic evaluation."""
    last_evaluation: float | None = None
    """The mean return of the last periodic evaluation; None also for runs of earlier versions."""
    final_evaluation: float | None = None
    """The mean return of the newest final evaluation."""
    final_evaluation_at: int | None = None
    """The step of the policy that it evaluated."""


def scores_by_kind(progress: Progress, latest: JsonObject | None) -> dict[ScoreKind, float]:
    """Return the scores that a run with this progress has, the best kind first.

    The highest of several evaluations is none where the last one is known: a maximum over noisy
    measurements rises with their number.
    """
    is_final = progress.final_evaluation_at == progress.timesteps
    is_old = progress.last_evaluation is None
    found = {
        ScoreKind.FINAL_EVALUATION: progress.final_evaluation if is_final else None,
        ScoreKind.LAST_EVALUATION: progress.last_evaluation,
        ScoreKind.BEST_EVALUATION: progress.best_evaluation if is_old else None,
        ScoreKind.TRAINING_MEAN: (latest or {}).get("mean_reward"),
    }
    return {kind: value for kind, value in found.items() if value is not None}


def score_of(
    progress: Progress, latest: JsonObject | None
) -> tuple[float, ScoreKind] | tuple[None, None]:
    """Return the score of a run with this progress, and of which kind it is."""
    for kind, value in scores_by_kind(progress, latest).items():
        return value, kind
    return None, None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A learning curve reduced to a few points: steps and mean rewards."""

    every: int
    """Number of values that each point averages."""
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One training run as stored in the database."""

    id: str
    name: str
    env_id: str
    algorithm: str
    status: RunStatus
    config: JsonObject
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    owner: str | None = None
    """The id of the user who owns it; None: it was created without accounts."""
    visibility: Visibility = Visibility.PRIVATE
    shared_with: tuple[str, ...] = ()
    """Ids of users who may see it."""
    group_id: str | None = None
    parent: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""
    archived: bool = False
    error: str | None = None
    progress: Progress = Progress()
    latest: JsonObject | None = None
    """The newest value of every metric; None before the first line."""
    sketch: Sketch | None = None
    """Its reduced learning curve; None if not computed yet."""

    @property
    def score(self) -> float | None:
        """How good its policy is: `score_kind` tells by which measurement."""
        return score_of(self.progress, self.latest)[0]

    @property
    def score_kind(self) -> ScoreKind | None:
        """How its score was obtained; None if it has none."""
        return score_of(self.progress, self.latest)[1]

    @property
    def scores(self) -> dict[ScoreKind, float]:
        """Its scores of every kind that it has, the best kind first."""
        return scores_by_kind(self.progress, self.latest)

    @property
    def total_timesteps(self) -> int:
        """The budget; 0 if the config was written by another version and can't be read."""
        budget = self.config.get("total_timesteps")
        return int(budget) if isinstance(budget, int | float) else 0

    @property
    def share_done(self) -> float:
        """Fraction of the budget used, from 0 to 1."""
        if self.status is RunStatus.COMPLETED:
            return 1.0
        return min(1.0, max(0.0, self.progress.timesteps / max(1, self.total_timesteps)))

    @property
    def eta_s(self) -> float | None:
        """Estimated seconds left at the run's average speed, if known."""
        done, elapsed = self.progress.timesteps, self.progress.elapsed_s
        if self.status is not RunStatus.RUNNING or not done or not elapsed:
            return None
        return max(0, self.total_timesteps - done) * elapsed / done


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRun:
    """The fields of a queued run that the queue needs."""

    id: str
    owner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One line of a run's event log."""

    id: int
    run_id: str
    timestamp: datetime
    event_type: str
    level: EventLevel
    message: str
    data: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Criteria of a list of runs; None means any."""

    status: RunStatus | None = None
    env_id: str | None = None
    algorithm: str | None = None
    tag: str | None = None
    group_id: str | None = None
    owner: str | None = None
    archived: bool | None = False
    text: str | None = None
    seen_by: str | None = None
    """Only runs that the user with this id may see."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a list and the cursor of the next page."""

    items: tuple[T, ...]
    next: str | None
