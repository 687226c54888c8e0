"""Episodes that users played: a file of arrays and a file of facts each."""

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from storage.files.atomic import write_atomically
from storage.files.lab_folder import LabFolder
from storage.records import Demonstration

_WITHOUT_ACCOUNTS = "lab"


@dataclass(frozen=True, slots=True)
class DemonstrationFolder:
    """The demonstrations of one user, or of the lab where there are no accounts."""

    path: Path

    @classmethod
    def of(cls, folder: LabFolder, user_id: str | None) -> "DemonstrationFolder":
        """Return the folder of the user with this id, who must exist."""
        return cls(folder.demonstrations / (user_id or _WITHOUT_ACCOUNTS))

    def list(self) -> list[Demonstration]:
        """Return all of them, newest first."""
        found = []
        for path in self.path.glob("*.json"):
            # Skip those that can't be read or are being deleted.
            with suppress(OSError, msgspec.MsgspecError):
                found.append(msgspec.json.decode(path.read_bytes(), type=Demonstration))
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    def save(self, content: bytes, **known: Any) -> Demonstration:
        """Store an episode; `known` are the facts that can't be derived from the file."""
        self.path.mkdir(parents=True, exist_ok=True)
        facts = Demonstration(
            id=uuid4().hex, created_at=datetime.now(UTC), size=len(content), **known
        )
        write_atomically(self._content(facts), content)
        # Write the facts last: without them the demonstration is incomplete.
        write_atomically(self._facts(facts), msgspec.json.encode(facts))
        return facts

    def find(self, demonstration_id: str) -> Path | None:
        """Return the path of a demonstration's arrays, or None if the id is unknown."""
        known = self._known(demonstration_id)
        return None if known is None else self._content(known)

    def remove(self, demonstration_id: str) -> bool:
        """Delete a demonstration; return whether it existed."""
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
