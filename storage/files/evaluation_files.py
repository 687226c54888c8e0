"""The evaluations and recordings of one run on disk: what they found, and their videos."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.files.atomic import Content, find_unfinished, write_atomically
from storage.records.runs import JsonObject

_UNDER_WAY = ".pending"
"""How the record of one ends that isn't over; a start of the server looks for nothing else."""


@dataclass(frozen=True, slots=True)
class EvaluationFiles:
    """A folder with one record and at most one video for each."""

    path: Path

    def save(self, evaluation_id: str, found: JsonObject, *, is_over: bool) -> None:
        """Store how an evaluation stands; its id comes from this program."""
        self.path.mkdir(exist_ok=True)
        content = msgspec.json.format(msgspec.json.encode(found), indent=2)
        under_way = self.path / f"{evaluation_id}{_UNDER_WAY}"
        write_atomically(self.path / f"{evaluation_id}.json" if is_over else under_way, content)
        if is_over:
            under_way.unlink(missing_ok=True)

    def load_all(self) -> list[bytes]:
        """Return the records of those that are over."""
        return [path.read_bytes() for path in self.path.glob("*.json")]

    def load_under_way(self) -> list[bytes]:
        """Return the records of those that weren't over when they were stored."""
        return [path.read_bytes() for path in self.path.glob(f"*{_UNDER_WAY}")]

    def video(self, evaluation_id: str) -> Path:
        """Return where the video of an evaluation lies, whose id was found among the records."""
        return self.path / f"{evaluation_id}.mp4"

    def save_video(self, evaluation_id: str, content: Content) -> None:
        """Store a video, whole or not at all."""
        self.path.mkdir(exist_ok=True)
        write_atomically(self.video(evaluation_id), content)

    def save_replay(self, evaluation_id: str, content: Content) -> None:
        """Store the steps that a video shows, packed."""
        write_atomically(self._replay(evaluation_id), content)

    def replay(self, evaluation_id: str) -> bytes | None:
        """Return the steps that a video shows, packed, if they are still there."""
        try:
            return self._replay(evaluation_id).read_bytes()
        except FileNotFoundError:
            return None

    def remove_video(self, evaluation_id: str) -> None:
        """Delete a video and its steps; what was found stays."""
        self.video(evaluation_id).unlink(missing_ok=True)
        self._replay(evaluation_id).unlink(missing_ok=True)

    def _replay(self, evaluation_id: str) -> Path:
        return self.path / f"{evaluation_id}.steps.gz"


def folders_with_evaluations_under_way(runs: Path) -> list[Path]:
    """Return the folders of runs in which a server left evaluations that weren't over."""
    folders = set(runs.glob("*/evaluations"))
    found = {path.parent for path in find_unfinished(folders)}
    found |= {folder for folder in folders if any(folder.glob(f"*{_UNDER_WAY}"))}
    return sorted(folder.parent for folder in found)
