"""Insights: findings of the doctor with evidence and a suggestion."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from storage.records import JsonObject


class Severity(StrEnum):
    """How important an insight is."""

    INFO = "info"
    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"

    @property
    def is_problem(self) -> bool:
        """Whether it requires action."""
        return self in {Severity.WARNING, Severity.ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers behind an insight, and the part of the chart that they come from."""

    metric: str
    window: tuple[int, int]
    """The first and the last step considered."""
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """A finding of the doctor."""

    code: str
    """Its stable name."""
    severity: Severity
    title: str
    message: str
    """The observation and its meaning."""
    evidence: Evidence
    suggestion: str
    """What to do."""
    change: JsonObject | None = None
    """The suggested change of the configuration, in the format of `POST /api/runs`."""
    at: int
    """The step at which it was first found."""
