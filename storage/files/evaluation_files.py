"""The evaluations and recordings of one run on disk: their records and videos."""

import logging
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.files.atomic import Content, find_unfinished, write_atomically
from storage.records import JsonObject

_PENDING = ".pending"
"""Suffix of the record of an unfinished evaluation; a starting server looks only for these."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EvaluationFiles:
    """A folder with one record and at most one video for each evaluation."""

    path: Path

    def save(self, evaluation_id: str, found: JsonObject, *, is_over: bool) -> None:
        """Store the record of an evaluation; its id must come from this program."""
        self.path.mkdir(exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(found), indent=2)
        pending = self.path / f"{evaluation_id}{_PENDING}"
        write_atomically(self.path / f"{evaluation_id}.json" if is_over else pending, content)
        if is_over:
            pending.unlink(missing_ok=True)

    def load_all(self) -> list[bytes | None]:
        """Return the records of finished evaluations; None for each that can't be read."""
        return [_read(path) for path in self.path.glob("*.json")]

    def load_pending(self) -> list[bytes | None]:
        """Return the records of unfinished evaluations; None for each that can't be read."""
        return [_read(path) for path in self.path.glob(f"*{_PENDING}")]

    def video(self, evaluation_id: str) -> Path:
        """Return the path of the video of an evaluation, whose id must come from a record."""
        return self.path / f"{evaluation_id}.mp4"

    def save_video(self, evaluation_id: str, content: Content) -> None:
        """Store a video atomically."""
        self.path.mkdir(exist_ok=True)
        write_atomically(self.video(evaluation_id), content)

    def save_replay(self, evaluation_id: str, content: Content) -> None:
        """Store the compressed steps that a video shows."""
        write_atomically(self._replay(evaluation_id), content)

    def replay(self, evaluation_id: str) -> bytes | None:
        """Return the compressed steps that a video shows, if they still exist."""
        try:
            return self._replay(evaluation_id).read_bytes()
        except FileNotFoundError:
            return None

    def remove_video(self, evaluation_id: str) -> None:
        """Delete a video and its steps; the record stays."""
        self.video(evaluation_id).unlink(missing_ok=True)
        self._replay(evaluation_id).unlink(missing_ok=True)

    def _replay(self, evaluation_id: str) -> Path:
        return self.path / f"{evaluation_id}.steps.gz"


def folders_with_pending_evaluations(runs: Path) -> list[Path]:
    """Return the folders of runs in which a server left unfinished evaluations."""
    folders = set(runs.glob("*/evaluations"))
    found = {path.parent for path in find_unfinished(folders)}
    found |= {folder for folder in folders if any(folder.glob(f"*{_PENDING}"))}
    return sorted(folder.parent for folder in found)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError as error:
        _log.warning("A record of an evaluation can't be read: %s", error)
        return None
