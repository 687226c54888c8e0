"""The files of a checkpoint."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.records.runs import JsonObject


@dataclass(frozen=True, slots=True)
class CheckpointFile:
    """A place from which a run can go on."""

    path: Path

    @property
    def timesteps(self) -> int:
        """When it was taken."""
        return int(self.path.stem)

    @property
    def facts_path(self) -> Path:
        """What the lab knew when it was taken."""
        return self.path.with_suffix(".json")

    @property
    def policy(self) -> Path:
        """Its weights and scaling alone."""
        return self.path.with_suffix(".pt")

    @property
    def is_whole(self) -> bool:
        """Whether it was stored to the end."""
        return self.path.stem.isdecimal() and self.facts_path.is_file()

    def facts(self) -> JsonObject:
        """Return what the lab knew when it was taken."""
        facts: JsonObject = msgspec.json.decode(self.facts_path.read_bytes())
        return facts

    def is_pinned(self) -> bool:
        """Whether it stays, however many newer ones there are."""
        try:
            return bool(self.facts().get("pinned"))
        except (OSError, msgspec.MsgspecError):
            return False

    def is_good(self) -> bool:
        """Whether it still holds what was stored; it is never opened outside a worker."""
        try:
            with self.path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            facts = self.facts()
            return bool(digest == facts["sha256"] and int(facts["lines"]) >= 0)
        except (OSError, LookupError, TypeError, ValueError):
            return False

    def remove(self) -> None:
        """Delete it."""
        self.facts_path.unlink(missing_ok=True)
        self.policy.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)
