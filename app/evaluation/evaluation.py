"""What to evaluate, how an evaluation stands, and what some episodes say about a policy."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from app.code_check.kinds import CodeKind
from app.code_check.static_check import first_error
from app.core.errors import CodeError, InputError, short
from app.protocol import messages
from app.run_config.config import MAX_SEED
from app.runs.execution.periodic_evaluation import SEED
from app.statistics.estimators import bootstrap_interval, mean
from app.workers.video import Video

EPISODES = 5
MAX_EPISODES = 1_000
_ARTIFACT = re.compile(r"checkpoint-(\d{1,15})\.zip", re.ASCII)
MOST_EPISODES_WITH_CODE = 100


class EvaluationStatus(StrEnum):
    """Where an evaluation is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self not in (EvaluationStatus.QUEUED, EvaluationStatus.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What to evaluate, and how."""

    episodes: int = EPISODES
    seed: int = SEED
    """Of the first episode; the next ones count up from it."""
    deterministic: bool = True
    checkpoint: int | str | None = None
    """The step of a checkpoint, or `best`; None: the newest policy."""
    record: bool = False
    """Whether to keep a video of it."""
    code: str | None = None
    """Defines `evaluate(episode)`, whose numbers join the summary."""

    def __post_init__(self) -> None:
        if isinstance(self.checkpoint, str) and (named := _ARTIFACT.fullmatch(self.checkpoint)):
            # As the list of files has it.
            object.__setattr__(self, "checkpoint", int(named[1]))
        _check_number("episodes", self.episodes, 1, MAX_EPISODES)
        _check_number("seed", self.seed, 0, MAX_SEED - MAX_EPISODES)
        if self.code is not None:
            _check_number("episodes", self.episodes, 1, MOST_EPISODES_WITH_CODE)

    def check_code(self) -> None:
        """Refuse code that can't work, without running it; large files take a moment.

        Raises:
            CodeError: if it can't be read, or defines no `evaluate(episode)`.
        """
        problem = None if self.code is None else first_error(self.code, CodeKind.EVALUATION)
        if problem is not None:
            raise CodeError(problem.message, line=problem.line, field="code")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Some episodes with a policy: how far they are, and, once they are over, what they say."""

    id: str
    run_id: str
    kind: Literal["evaluation", "recording", "evolution"] = "evaluation"
    """A recording is one episode of the live view, which goes on learning meanwhile; an evolution
    strings the clips of the time machine together."""
    status: EvaluationStatus = EvaluationStatus.COMPLETED
    error: str | None = None
    error_line: int | None = None
    """In which line of the code it failed, if it is that which failed."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    checkpoint: int | str | None = None
    timesteps: int | None = None
    """How long the policy was trained; None where nobody wrote it down."""
    deterministic: bool = True
    record: bool = False
    pinned: bool = False
    """Whether its video stays, however many newer ones there are."""
    episodes: int
    played: int = 0
    """How many of them are over."""
    video: Video | None = None
    video_note: str | None = None
    """Why there is no video, or only a part of one."""
    mean_return: float | None = None
    std_return: float | None = None
    """Of the sample (n - 1); None for a single episode, as is the interval."""
    median_return: float | None = None
    ci95: tuple[float, float] | None = None
    """The interval that holds the true mean with 95 % confidence, by bootstrap."""
    min: float | None = None
    max: float | None = None
    mean_length: float | None = None
    terminations: dict[str, int] | None = None
    """How many episodes ended by themselves, and how many by a time limit."""
    returns: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    """What made training harder and was switched off."""
    code: str | None = None
    custom: dict[str, float] | None = None
    """What the code says of the episodes, on average."""
    custom_per_episode: dict[str, tuple[float, ...]] | None = None

    @property
    def has_video(self) -> bool:
        """Whether its video can be played."""
        return self.video is not None and not self.video.is_removed


def begin_evaluation(run_id: str, judging: EvaluationOptions) -> Evaluation:
    """Return an evaluation that waits for its turn."""
    return Evaluation(
        id=uuid4().hex,
        run_id=run_id,
        status=EvaluationStatus.QUEUED,
        created_at=datetime.now(UTC),
        checkpoint=judging.checkpoint,
        deterministic=judging.deterministic,
        record=judging.record,
        code=judging.code,
        episodes=judging.episodes,
        seeds=tuple(judging.seed + episode for episode in range(judging.episodes)),
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
    """Return a video of so many clips that waits for its turn."""
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
    """Return an evaluation as it stands after its end."""
    return replace(evaluation, status=status, error=error, finished_at=datetime.now(UTC))


def summarise(evaluation: Evaluation, said: messages.Evaluated) -> Evaluation:
    """Return an evaluation with what its episodes say."""
    returns = np.asarray(said.returns, dtype=np.float64)
    has_spread = len(returns) > 1
    return replace(
        evaluation,
        played=len(returns),
        mean_return=float(returns.mean()),
        std_return=float(returns.std(ddof=1)) if has_spread else None,
        median_return=float(np.median(returns)),
        ci95=bootstrap_interval(mean, returns) if has_spread else None,
        min=float(returns.min()),
        max=float(returns.max()),
        mean_length=float(np.mean(said.lengths)),
        terminations={
            "terminated": len(returns) - said.truncated,
            "truncated": said.truncated,
        },
        returns=said.returns,
        lengths=said.lengths,
        **_custom(said),
    )


def _custom(said: messages.Evaluated) -> dict[str, Any]:
    if not said.custom:
        return {}
    by_name = {name: tuple(one[name] for one in said.custom) for name in said.custom[0]}
    means = {name: float(np.mean(values)) for name, values in by_name.items()}
    return {"custom": means, "custom_per_episode": by_name}


def _check_number(field: str, number: int, least: int, most: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise InputError(
            f"{field} must be a whole number from {least:,} to {most:,}, got {short(number)}.",
            field=field,
        )
