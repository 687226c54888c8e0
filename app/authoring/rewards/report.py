"""The report of a reward check."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from app.code_check import Problem, Severity
from app.protocol import Scored, Term

RANK_METHOD = "Kendall's tau-b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A sentence about the whole reward."""

    severity: Severity
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectories:
    """Recorded episodes of one policy, and their returns."""

    name: str
    origin: str
    """Where they come from, as text for users."""
    episodes: int
    mean_length: float
    mean_return: float
    """By the custom reward."""
    discounted_return: float
    """The same, discounted with gamma 0.99."""
    true_return: float
    """By the environment's own reward."""

    @classmethod
    def of(cls, scored: Scored) -> "Trajectories":
        """Summarise one or more episodes."""
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
    """A degenerate policy, and whether it exploits the reward."""

    trajectories: Trajectories
    is_hack: bool
    """Whether it is paid more than a good policy although its true return is much lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardReport:
    """The result of a check; without a dry run it has only problems."""

    problems: Sequence[Problem]
    terms: Sequence[Term] = ()
    trajectories: Sequence[Trajectories] = ()
    probes: Sequence[Probe] = ()
    findings: Sequence[Finding] = ()
    rank_agreement: float | None = None
    """From -1 to 1: the correlation of its ranking with the true one; None: unknown."""
    microseconds: float | None = None
    """The time of a call."""
    step_microseconds: float | None = None
    """The time of a step of the environment without the call."""
    steps: int = 0
    """The number of recorded steps that the terms were computed from."""

    @property
    def is_ok(self) -> bool:
        """Whether it can be used for training."""
        return not any(problem.is_error for problem in self.problems)

    @property
    def step_share(self) -> float | None:
        """The share of the time of a training step that the reward takes, without learning."""
        if self.microseconds is None or self.step_microseconds is None:
            return None
        return self.microseconds / max(self.microseconds + self.step_microseconds, 1e-9)

    @property
    def hackable_by(self) -> list[str]:
        """The names of the probes that exploit it."""
        return [probe.trajectories.name for probe in self.probes if probe.is_hack]
