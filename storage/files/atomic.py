"""Files as the lab keeps them: written whole or not at all, and never links to elsewhere."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

Content = bytes | bytearray
"""What is written to a file."""

_UNFINISHED = ".part"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a run that can be downloaded."""

    path: Path
    size: int
    created_at: datetime

    @classmethod
    def at(cls, path: Path) -> "Artifact | None":
        """Look at a file; it may be gone by now, and what is no file of ours is none."""
        try:
            facts = path.lstat()
        except FileNotFoundError:
            return None
        return (
            None
            if not stat.S_ISREG(facts.st_mode)
            else cls(path, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))
        )


def is_own_file(path: Path) -> bool:
    """Whether this is a file, and no link to one that is somewhere else."""
    return Artifact.at(path) is not None


def write_atomically(path: Path, content: Content) -> None:
    """Write a file so that it is there whole or not at all, also after a crash."""
    # A name of its own: two may write the same file at once, and the last one wins.
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}{_UNFINISHED}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def find_unfinished(folders: Iterable[Path]) -> list[Path]:
    """Return the files that were being written in these folders when a server was killed."""
    return [path for folder in folders for path in folder.glob(f".*{_UNFINISHED}")]
