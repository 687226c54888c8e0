"""The files of a checkpoint on disk."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.records import JsonObject


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """A checkpoint from which a run can be resumed."""

    path: Path

    @property
    def timesteps(self) -> int:
        """The step at which it was taken."""
        return int(self.path.stem)

    @property
    def facts_path(self) -> Path:
        """The file with its facts, such as its hash."""
        return self.path.with_suffix(".json")

    @property
    def policy(self) -> Path:
        """The policy alone: weights and normalization."""
        return self.path.with_suffix(".pt")

    @property
    def is_complete(self) -> bool:
        """Whether it was stored completely."""
        return self.path.stem.isdecimal() and self.facts_path.is_file()

    def facts(self) -> JsonObject:
        """Return the facts that were stored with it."""
        facts: JsonObject = msgspec.json.decode(self.facts_path.read_bytes())
        return facts

    def is_pinned(self) -> bool:
        """Whether it is kept regardless of newer ones."""
        try:
            return bool(self.facts().get("pinned"))
        except (OSError, msgspec.MsgspecError):
            return False

    def is_intact(self) -> bool:
        """Whether its hash still matches; it is never opened outside a worker."""
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            facts = self.facts()
            return bool(digest == facts["sha256"] and int(facts["lines"]) >= 0)
        except (OSError, LookupError, TypeError, ValueError):
            return False

    def remove(self) -> None:
        """Delete its files."""
        self.facts_path.unlink(missing_ok=True)
        self.policy.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
