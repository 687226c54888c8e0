"""What stands in a report; its three forms write down the same values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.analysis.insights.insight import Insight
from storage.records.runs import JsonObject

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One number of a run, rounded as it is shown everywhere; None: not measured."""

    name: str
    label: str
    value: float | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """How to train the same once more."""

    command: str
    method: str
    path: str
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A video of an evaluation."""

    evaluation: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything about a run at one moment."""

    made_at: str
    version: str
    run: JsonObject
    """Its names, status and times."""
    facts: Sequence[Fact]
    insights: Sequence[Insight]
    config: JsonObject
    evaluations: Sequence[JsonObject]
    curves: Mapping[str, Points]
    repeat: Repeat
    clip: Clip | None
