"""The manifest of a bundle: its run, and the size and hash of each file."""

import platform
from datetime import datetime
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from app.protocol import Count, Number
from storage.records import EventLevel, EventRecord, RunRecord, RunStatus, SolvedBy

SCHEMA = 1
"""Version of the bundle's layout; increases with each incompatible change."""
FORMAT = "rl-lab-run"
MANIFEST = "manifest.json"
EVENTS = "events.json"

PROGRESS_KEYS = (
    *("timesteps", "vec_steps", "updates", "episodes", "elapsed_s", "best", "solved_at"),
    *("solved_by", "best_evaluation", "last_evaluation"),
    *("final_evaluation", "final_evaluation_at"),
)
"""The fields of `Progress` that a bundle contains."""

_PACKAGES = ("rl-lab", "stable-baselines3", "sb3-contrib", "gymnasium", "torch", "numpy")
_MAX_FILES = 10_000

Line = Annotated[str, msgspec.Meta(max_length=200)]
Prose = Annotated[str, msgspec.Meta(max_length=20_000)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=50)]


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that the manifest has in every version."""

    schema: int
    format: str = ""


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file of a bundle."""

    name: Line
    size: Count
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class RunEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The run as it was in its original lab."""

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
    # Bundles of earlier versions don't have these.
    solved_by: SolvedBy | None = None
    best_evaluation: Number = None
    last_evaluation: Number = None
    final_evaluation: Number = None
    final_evaluation_at: Count | None = None

    @classmethod
    def of(cls, run: RunRecord) -> "RunEntry":
        """Return the entry of a run."""
        named = {
            name: getattr(run.progress if name in PROGRESS_KEYS else run, name)
            for name in cls.__struct_fields__
        }
        return cls(**named | {"tags": list(run.tags)})


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The manifest, written as the last file of a bundle and read first."""

    schema: int = SCHEMA
    format: str = FORMAT
    exported_at: datetime
    run: RunEntry
    versions: Annotated[dict[Line, Line], msgspec.Meta(max_length=50)]
    files: Annotated[list[FileEntry], msgspec.Meta(max_length=_MAX_FILES)]


class EventEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a run's event log."""

    timestamp: datetime
    event_type: Line
    level: EventLevel
    message: Prose
    data: dict[str, Any]

    @classmethod
    def of(cls, event: EventRecord) -> "EventEntry":
        """Return the entry of an event."""
        return cls(
            timestamp=event.timestamp,
            event_type=event.event_type,
            level=event.level,
            message=event.message,
            data=dict(event.data),
        )


def current_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter for a run."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
