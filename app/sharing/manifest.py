"""What a bundle says about itself: whose files they are, and what each of them must be."""

import platform
from datetime import datetime
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from app.protocol.messages import Count, Number
from storage.records.runs import EventLevel, EventRecord, RunRecord, RunStatus

SCHEMA = 1
"""The version of the bundle's layout; grows when a reader would have to know."""
FORMAT = "rl-lab-run"
MANIFEST = "manifest.json"
EVENTS = "events.json"

_PACKAGES = ("rl-lab", "stable-baselines3", "sb3-contrib", "gymnasium", "torch", "numpy")
_MOST_FILES = 10_000

Line = Annotated[str, msgspec.Meta(max_length=200)]
Prose = Annotated[str, msgspec.Meta(max_length=20_000)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=50)]


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """What can be read of any version's manifest."""

    schema: int
    format: str = ""


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of a bundle."""

    name: Line
    size: Count
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class RunEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run as it stood in the lab that it comes from."""

    id: Line
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    status: RunStatus
    env_id: Line
    algorithm: Line
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    tags: Annotated[list[Tag], msgspec.Meta(max_length=20)]
    notes: Prose
    error: Prose | None
    timesteps: Count
    vec_steps: Count
    updates: Count
    episodes: Count
    elapsed_s: Annotated[float, msgspec.Meta(ge=0)]
    best: Number
    solved_at: Count | None

    @classmethod
    def of(cls, run: RunRecord) -> "RunEntry":
        """Describe a run."""
        done = run.progress
        return cls(
            id=run.id,
            name=run.name,
            status=run.status,
            env_id=run.env_id,
            algorithm=run.algorithm,
            created_at=run.created_at,
            started_at=run.started_at,
            finished_at=run.finished_at,
            tags=list(run.tags),
            notes=run.notes,
            error=run.error,
            timesteps=done.timesteps,
            vec_steps=done.vec_steps,
            updates=done.updates,
            episodes=done.episodes,
            elapsed_s=done.elapsed_s,
            best=done.best,
            solved_at=done.solved_at,
        )


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The last file of a bundle and the first that is read."""

    schema: int = SCHEMA
    format: str = FORMAT
    exported_at: datetime
    run: RunEntry
    versions: Annotated[dict[Line, Line], msgspec.Meta(max_length=50)]
    files: Annotated[list[FileEntry], msgspec.Meta(max_length=_MOST_FILES)]


class EventEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a run's event log."""

    timestamp: datetime
    event_type: Line
    level: EventLevel
    message: Prose
    data: dict[str, Any]

    @classmethod
    def of(cls, event: EventRecord) -> "EventEntry":
        """Describe an event."""
        return cls(
            timestamp=event.timestamp,
            event_type=event.event_type,
            level=event.level,
            message=event.message,
            data=dict(event.data),
        )


def versions_here() -> dict[str, str]:
    """Return what this lab is made of, as far as it matters to a run."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
