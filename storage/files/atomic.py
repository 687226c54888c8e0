"""Atomic writes, and checks that a file is a regular file and not a link."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

Content = bytes | bytearray
"""The content of a file."""

_UNFINISHED = ".part"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a run that can be downloaded."""

    path: Path
    size: int
    created_at: datetime

    @classmethod
    def at(cls, path: Path) -> "Artifact | None":
        """Return the artifact at a path; None if it is missing or not a regular file."""
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
    """Whether the path is a regular file and not a link."""
    return Artifact.at(path) is not None


def read_optional(path: Path) -> bytes | None:
    """Return the content of a file, or None if it doesn't exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_atomically(path: Path, content: Content) -> None:
    """Replace a file atomically: even after a crash it has the old or the new content."""
    # A unique name: two threads may write the same file at once, and the last one wins.
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
    """Return the temporary files that a killed server left in these folders."""
    return [path for folder in folders for path in folder.glob(f".*{_UNFINISHED}")]
