"""What a check says of a reward, before anything is trained with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from app.code_check.problems import Problem, Severity
from app.protocol.messages import Scored, Term

RANK_METHOD = "Kendall's tau-b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One sentence about the reward as a whole."""

    severity: Severity
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectories:
    """Recorded episodes of one way of acting, and what they are paid."""

    name: str
    origin: str
    """Where they come from, in words for people."""
    episodes: int
    mean_length: float
    mean_return: float
    """By the reward that was written."""
    discounted_return: float
    """The same with a discount of 0.99 for each step, as an agent sees it from the beginning."""
    true_return: float
    """By the environment's own."""

    @classmethod
    def of(cls, scored: Scored) -> "Trajectories":
        """Summarise episodes, of which there is at least one."""
        return cls(
            name=scored.name,
            origin=scored.origin,
            episodes=len(scored.returns),
            mean_length=fmean(scored.lengths),
            mean_return=fmean(scored.returns),
            discounted_return=fmean(scored.discounted),
            true_return=fmean(scored.own_returns),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A cheap trick, and whether it pays."""

    trajectories: Trajectories
    is_hack: bool
    """Whether it is paid more than acting well, although it is worth much less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardReport:
    """All that a check found; without a dry run there are only problems."""

    problems: Sequence[Problem]
    terms: Sequence[Term] = ()
    trajectories: Sequence[Trajectories] = ()
    probes: Sequence[Probe] = ()
    findings: Sequence[Finding] = ()
    rank_agreement: float | None = None
    """From -1 to 1: how far it orders episodes as their true return does; None: can't be said."""
    microseconds: float | None = None
    """How long a call takes."""
    step_microseconds: float | None = None
    """How long a step of the environment takes without it."""
    steps: int = 0
    """How many recorded steps the terms are about."""

    @property
    def is_ok(self) -> bool:
        """Whether a training can begin with it."""
        return not any(problem.is_error for problem in self.problems)

    @property
    def step_share(self) -> float | None:
        """Which part of a step in training the reward would take, learning aside."""
        if self.microseconds is None or self.step_microseconds is None:
            return None
        return self.microseconds / max(self.microseconds + self.step_microseconds, 1e-9)

    @property
    def hackable_by(self) -> list[str]:
        """The tricks that pay more than acting well."""
        return [probe.trajectories.name for probe in self.probes if probe.is_hack]
