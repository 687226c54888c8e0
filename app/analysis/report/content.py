"""The content of a report, which is the same in all three forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.analysis.insights import Insight
from storage.records import JsonObject

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One number of a run, rounded for display; None: not measured."""

    name: str
    label: str
    value: float | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """The command and the API request that reproduce a run."""

    command: str
    method: str
    path: str
    body: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A video of an evaluation."""

    evaluation: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The state of a run at one time."""

    made_at: str
    version: str
    run: JsonObject
    """Its id, names, status and times."""
    facts: Sequence[Fact]
    insights: Sequence[Insight]
    config: JsonObject
    reward_code: str | None
    env_code: str | None
    evaluations: Sequence[JsonObject]
    curves: Mapping[str, Points]
    repeat: Repeat | None
    """How to reproduce it; None if another version wrote its configuration."""
    video: Video | None
