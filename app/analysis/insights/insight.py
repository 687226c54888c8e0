"""What the doctor says: one finding with its evidence, and what could be done about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from storage.records.runs import JsonObject


class Severity(StrEnum):
    """How much a finding matters."""

    INFO = "info"
    GOOD = "good"
    WARNING = "warning"
    ERROR = "error"

    @property
    def is_loud(self) -> bool:
        """Whether somebody should do something about it."""
        return self in {Severity.WARNING, Severity.ERROR}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The numbers that a finding rests on, and where on the chart they are."""

    metric: str
    window: tuple[int, int]
    """The first and the last timestep that were looked at."""
    numbers: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """One finding."""

    code: str
    """Its stable name."""
    severity: Severity
    title: str
    message: str
    """What was seen and what it means."""
    evidence: Evidence
    suggestion: str
    """What to do."""
    change: JsonObject | None = None
    """What another configuration would have instead, as `POST /api/runs` takes it."""
    at: int
    """The timestep at which it was found first."""
