"""Episodes that people played: one file of numbers and one of facts each."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from storage.files.atomic import write_atomically
from storage.files.lab_folder import LabFolder

_NOBODYS = "lab"


class Demonstration(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an episode that somebody played."""

    id: str
    env_id: str
    seed: int
    steps: int
    total: float
    """What it was worth."""
    has_observations: bool
    created_at: datetime
    size: int


@dataclass(frozen=True, slots=True)
class DemonstrationFolder:
    """The demonstrations of one person, or of the lab where there are no accounts."""

    path: Path

    @classmethod
    def of(cls, folder: LabFolder, person_id: str | None) -> "DemonstrationFolder":
        """Return the folder of the person with this id, which must exist."""
        return cls(folder.demonstrations / (person_id or _NOBODYS))

    def list(self) -> list[Demonstration]:
        """Return all of them, newest first."""
        found = []
        for path in self.path.glob("*.json"):
            # One that can't be read, or is being deleted, isn't worth a word.
            with suppress(OSError, msgspec.MsgspecError):
                found.append(msgspec.json.decode(path.read_bytes(), type=Demonstration))
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    def save(self, content: bytes, **known: Any) -> Demonstration:
        """Keep an episode; `known` are the facts that the file doesn't tell."""
        self.path.mkdir(parents=True, exist_ok=True)
        facts = Demonstration(
            id=uuid4().hex, created_at=datetime.now(UTC), size=len(content), **known
        )
        write_atomically(self._content(facts), content)
        # The facts come last: without them there is no demonstration.
        write_atomically(self._facts(facts), msgspec.json.encode(facts))
        return facts

    def find(self, demonstration_id: str) -> Path | None:
        """Return where the numbers of a demonstration are, if there is one of this id."""
        known = self._known(demonstration_id)
        return None if known is None else self._content(known)

    def remove(self, demonstration_id: str) -> bool:
        """Delete a demonstration; return whether there was one."""
        known = self._known(demonstration_id)
        if known is None:
            return False
        self._facts(known).unlink(missing_ok=True)
        self._content(known).unlink(missing_ok=True)
        return True

    def _known(self, demonstration_id: str) -> Demonstration | None:
        return next((one for one in self.list() if one.id == demonstration_id), None)

    def _content(self, facts: Demonstration) -> Path:
        return self.path / f"{facts.id}.npz"

    def _facts(self, facts: Demonstration) -> Path:
        return self.path / f"{facts.id}.json"
