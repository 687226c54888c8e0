"""Rewards that people wrote: for each person and environment one file with the newest versions."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from storage.files.atomic import write_atomically
from storage.files.lab_folder import LabFolder

_NOBODYS = "lab"


class RewardVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A reward as it was saved."""

    number: int
    """Counted from 1 for each environment; never used again."""
    code: str
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class RewardShelf:
    """The versions of one person, or of the lab where there are no accounts."""

    path: Path

    @classmethod
    def of(cls, folder: LabFolder, person_id: str | None) -> "RewardShelf":
        """Return the shelf of the person with this id, which must exist."""
        return cls(folder.rewards / (person_id or _NOBODYS))

    @property
    def environments(self) -> int:
        """For how many environments there are versions."""
        return sum(1 for _ in self.path.glob("*.json"))

    def list(self, env_id: str) -> list[RewardVersion]:
        """Return the versions for an environment, newest first."""
        # What can't be read is as good as none: nothing else depends on it.
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._file(env_id).read_bytes(), type=list[RewardVersion])
        return []

    def save(self, env_id: str, code: str, *, keep: int) -> RewardVersion:
        """Add a version and drop all but the newest; the same text again is the same version."""
        before = self.list(env_id)
        if before and before[0].code == code:
            return before[0]
        number = before[0].number + 1 if before else 1
        version = RewardVersion(number=number, code=code, saved_at=datetime.now(UTC))
        self.path.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file(env_id), msgspec.json.encode([version, *before][:keep]))
        return version

    def _file(self, env_id: str) -> Path:
        return self.path / f"{hashlib.sha256(env_id.encode()).hexdigest()[:32]}.json"
