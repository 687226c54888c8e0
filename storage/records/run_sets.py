"""Sets of runs, such as the seeds of one configuration; sets can be nested."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from storage.records.runs import JsonObject


class RunSetKind(StrEnum):
    """How the runs of a set are related."""

    SEEDS = "seeds"
    """They differ only by their seed."""


class RunSetState(StrEnum):
    """Whether a set has all its runs; their progress is in their own status."""

    OPEN = "open"
    """Runs are still being added."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetRecord:
    """A set of runs as stored in the database; its runs reference it by `group_id`."""

    id: str
    kind: RunSetKind
    name: str
    spec: JsonObject
    """The values by which its runs differ: the seeds."""
    created_at: datetime
    state: RunSetState = RunSetState.OPEN
    owner: str | None = None
    """The id of the user who owns it; None: it was created without accounts."""
    parent: str | None = None
    """The set that contains it, if any."""
