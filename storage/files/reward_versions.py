"""Saved custom rewards: one file with the newest versions per user and environment."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from storage.files.atomic import write_atomically
from storage.files.lab_folder import LabFolder

_WITHOUT_ACCOUNTS = "lab"


class RewardVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A saved version of a custom reward."""

    number: int
    """Counted from 1 for each environment; never reused."""
    code: str
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class RewardFolder:
    """The versions of one user, or of the lab where there are no accounts."""

    path: Path

    @classmethod
    def of(cls, folder: LabFolder, user_id: str | None) -> "RewardFolder":
        """Return the folder of the user with this id, who must exist."""
        return cls(folder.rewards / (user_id or _WITHOUT_ACCOUNTS))

    @property
    def environments(self) -> int:
        """Number of environments that have versions."""
        return sum(1 for _ in self.path.glob("*.json"))

    def list(self, env_id: str) -> list[RewardVersion]:
        """Return the versions for an environment, newest first."""
        # Treat an unreadable file as empty: nothing else depends on it.
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._file(env_id).read_bytes(), type=list[RewardVersion])
        return []

    def save(self, env_id: str, code: str, *, keep: int) -> RewardVersion:
        """Add a version and drop all but the newest `keep`; unchanged code adds none."""
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
