"""What to evaluate, and what some episodes say about a policy."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from app.errors import InputError, short
from app.training.beside import SEED
from app.training.config import MAX_SEED
from app.worker import messages

EPISODES = 5
MAX_EPISODES = 1_000

_RESAMPLES = 2_000
_SEED_OF_INTERVAL = 0
"""The same returns always have the same interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What to evaluate, and how."""

    episodes: int = EPISODES
    seed: int = SEED
    """Of the first episode; the next ones count up from it."""
    deterministic: bool = True
    checkpoint: int | str | None = None
    """The step of a checkpoint, or `best`; None: the final policy."""

    def __post_init__(self) -> None:
        _check_number("episodes", self.episodes, 1, MAX_EPISODES)
        _check_number("seed", self.seed, 0, MAX_SEED - MAX_EPISODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What some episodes say about a policy."""

    id: str
    run_id: str
    created_at: datetime
    checkpoint: int | str | None
    timesteps: int | None
    """How long the policy was trained; None where nobody wrote it down."""
    deterministic: bool
    episodes: int
    mean_return: float
    std_return: float | None
    """Of the sample (n - 1); None for a single episode, as is the interval."""
    median_return: float
    ci95: tuple[float, float] | None
    """The interval that holds the true mean with 95 % confidence, by bootstrap."""
    min: float
    max: float
    mean_length: float
    terminations: dict[str, int]
    """How many episodes ended by themselves, and how many by a time limit."""
    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    seeds: tuple[int, ...]
    left_out: tuple[str, ...]
    """What made training harder and was switched off."""


def summarise(
    run_id: str,
    judging: Judging,
    said: messages.Evaluated,
    timesteps: int | None,
    left_out: tuple[str, ...],
) -> Evaluation:
    """Return what the episodes of a run's policy say."""
    returns = np.asarray(said.returns, dtype=np.float64)
    has_spread = len(returns) > 1
    return Evaluation(
        id=uuid4().hex,
        run_id=run_id,
        created_at=datetime.now(UTC),
        checkpoint=judging.checkpoint,
        timesteps=timesteps,
        deterministic=judging.deterministic,
        episodes=len(returns),
        mean_return=float(returns.mean()),
        std_return=float(returns.std(ddof=1)) if has_spread else None,
        median_return=float(np.median(returns)),
        ci95=_interval(returns) if has_spread else None,
        min=float(returns.min()),
        max=float(returns.max()),
        mean_length=float(np.mean(said.lengths)),
        terminations={
            "terminated": len(returns) - said.truncated,
            "truncated": said.truncated,
        },
        returns=said.returns,
        lengths=said.lengths,
        seeds=tuple(judging.seed + episode for episode in range(len(returns))),
        left_out=left_out,
    )


def _interval(returns: np.ndarray) -> tuple[float, float]:
    """Return what 95 % of the means lie between that other samples of this kind would have."""
    draw = np.random.default_rng(_SEED_OF_INTERVAL)
    means = draw.choice(returns, size=(_RESAMPLES, len(returns))).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def _check_number(field: str, number: int, least: int, most: int) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise InputError(
            f"{field} must be a whole number from {least:,} to {most:,}, got {short(number)}.",
            field=field,
        )
