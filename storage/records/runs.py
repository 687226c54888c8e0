"""The vocabulary of the lab: plain frozen values that every layer may pass around."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

T = TypeVar("T")

JsonObject = Mapping[str, Any]
"""A decoded JSON object: the one place where values have no fixed shape."""


class RunStatus(StrEnum):
    """Where a run is in its life; the arrows are in `ALLOWED_STEPS`."""

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
        """Whether a worker owns the run, or is about to."""
        return self is RunStatus.QUEUED or self.has_worker

    @property
    def has_worker(self) -> bool:
        """Whether a worker owns the run right now."""
        return self in WITH_WORKER

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to the run by itself."""
        return self in ENDS


WITH_WORKER = frozenset({RunStatus.STARTING, RunStatus.RUNNING, RunStatus.PAUSED})

ENDS = frozenset({RunStatus.COMPLETED, RunStatus.STOPPED, RunStatus.FAILED, RunStatus.INTERRUPTED})

ALLOWED_STEPS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.CREATED: frozenset({RunStatus.QUEUED, RunStatus.STOPPED}),
    RunStatus.QUEUED: frozenset({RunStatus.STARTING, RunStatus.STOPPED}),
    RunStatus.STARTING: ENDS | {RunStatus.RUNNING},
    RunStatus.RUNNING: ENDS | {RunStatus.PAUSED},
    RunStatus.PAUSED: ENDS | {RunStatus.RUNNING},
    # What has ended can go on: stopped and broken runs as they are, completed ones if extended.
    RunStatus.COMPLETED: frozenset({RunStatus.QUEUED}),
    RunStatus.STOPPED: frozenset({RunStatus.QUEUED}),
    RunStatus.FAILED: frozenset({RunStatus.QUEUED}),
    RunStatus.INTERRUPTED: frozenset({RunStatus.QUEUED}),
}


class EventLevel(StrEnum):
    """How loudly the event log says something."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Visibility(StrEnum):
    """Who sees a run beside its owner, those it is shared with, and administrators."""

    PRIVATE = "private"
    EVERYONE = "everyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run has come, by its newest report."""

    timesteps: int = 0
    vec_steps: int = 0
    updates: int = 0
    episodes: int = 0
    elapsed_s: float = 0.0
    best: float | None = None
    """The best mean reward over 100 episodes so far."""
    solved_at: int | None = None
    """Timesteps at which the mean over 100 episodes first reached the solved threshold."""
    best_evaluation: float | None = None
    """The best mean return of an evaluation beside the training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """The shape of a learning curve in a few points: steps and mean rewards."""

    every: int
    """How many values a point stands for."""
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One training run as it stands in the database."""

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
    """The person it belongs to; None: it was made without accounts."""
    visibility: Visibility = Visibility.PRIVATE
    shared_with: tuple[str, ...] = ()
    """People who may look at it."""
    group_id: str | None = None
    parent: str | None = None
    tags: tuple[str, ...] = ()
    notes: str = ""
    archived: bool = False
    error: str | None = None
    progress: Progress = Progress()
    latest: JsonObject | None = None
    """The newest value of every metric, or None before the first one."""
    sketch: Sketch | None = None
    """The shape of its learning; None: nobody has drawn it yet."""

    @property
    def score(self) -> float | None:
        """What it is worth: its best evaluation, else its newest mean reward."""
        if self.progress.best_evaluation is not None:
            return self.progress.best_evaluation
        return (self.latest or {}).get("mean_reward")

    @property
    def total_timesteps(self) -> int:
        """The budget."""
        return int(self.config["total_timesteps"])

    @property
    def share_done(self) -> float:
        """How much of the budget is used, from 0 to 1."""
        if self.status is RunStatus.COMPLETED:
            return 1.0
        return min(1.0, max(0.0, self.progress.timesteps / self.total_timesteps))

    @property
    def eta_s(self) -> float | None:
        """Seconds that are left at the speed of the run so far, where it is known."""
        done, elapsed = self.progress.timesteps, self.progress.elapsed_s
        if self.status is not RunStatus.RUNNING or not done or not elapsed:
            return None
        return max(0, self.total_timesteps - done) * elapsed / done


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
    """Which runs a list asks for; None means any."""

    status: RunStatus | None = None
    env_id: str | None = None
    algorithm: str | None = None
    tag: str | None = None
    group_id: str | None = None
    owner: str | None = None
    archived: bool | None = False
    text: str | None = None
    seen_by: str | None = None
    """Only what this person may look at."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list and the cursor of the part after it."""

    items: tuple[T, ...]
    next: str | None
