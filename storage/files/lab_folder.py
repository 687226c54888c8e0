"""The folder of a lab: what lies beside the runs, and where each run is."""

import fcntl
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from storage.errors import RunsFolderInUseError, RunsFolderNotWritableError
from storage.files.atomic import Artifact, write_atomically
from storage.files.run_folder import RunFolder

_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class LabFolder:
    """The folder that holds everything the lab remembers."""

    path: Path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / "lab.db"

    @property
    def previews(self) -> Path:
        """Rendered pictures of environments, made once."""
        return self.path / ".previews"

    def run(self, run_id: str) -> RunFolder:
        """Return the folder of the run with this id, which must come from the database."""
        return RunFolder(self.path / run_id)

    def preview(self, env_id: str) -> Path:
        """Return where the picture of an environment lies."""
        return self.previews / f"{env_id.replace('/', '-')}.png"

    def save_preview(self, env_id: str, content: bytes) -> None:
        """Keep the picture of an environment."""
        self.previews.mkdir(exist_ok=True)
        write_atomically(self.preview(env_id), content)

    def avatar(self, person_id: str) -> Path:
        """Return where the picture of the person with this id lies, which must exist."""
        return self.path / ".avatars" / f"{person_id}.png"

    def save_avatar(self, person_id: str, content: bytes) -> None:
        """Keep the picture of a person."""
        self.avatar(person_id).parent.mkdir(exist_ok=True)
        write_atomically(self.avatar(person_id), content)

    def remove_avatar(self, person_id: str) -> None:
        """Forget the picture of a person."""
        self.avatar(person_id).unlink(missing_ok=True)

    def read_environments(self) -> bytes | None:
        """Return what is known of environments outside the catalogue, if anything is."""
        try:
            return self._environments.read_bytes()
        except FileNotFoundError:
            return None

    def save_environments(self, content: bytes) -> None:
        """Keep what is known of environments outside the catalogue."""
        write_atomically(self._environments, content)

    def read_custom_environments(self) -> dict[str, bytes]:
        """Return what is kept of the environments that people wrote, by their names."""
        return {path.stem: path.read_bytes() for path in sorted(self._custom.glob("*.json"))}

    def save_custom_environment(self, name: str, content: bytes) -> None:
        """Keep an environment that somebody wrote."""
        self._custom.mkdir(exist_ok=True)
        write_atomically(self._custom / f"{name}.json", content)

    @property
    def _custom(self) -> Path:
        return self.path / ".custom"

    @property
    def _environments(self) -> Path:
        return self.path / ".environments.json"

    def read_random_scores(self) -> bytes | None:
        """Return what is known of random play, if anything is."""
        try:
            return self._random_scores.read_bytes()
        except FileNotFoundError:
            return None

    def save_random_scores(self, content: bytes) -> None:
        """Keep what is known of random play."""
        write_atomically(self._random_scores, content)

    @property
    def _random_scores(self) -> Path:
        return self.path / ".random_scores.json"

    def read_transitions(self, key: str) -> bytes | None:
        """Return the recorded episodes that were kept under this key of hexadecimal digits."""
        try:
            return self._transitions(key).read_bytes()
        except FileNotFoundError:
            return None

    def save_transitions(self, key: str, content: bytes, *, keep: int) -> None:
        """Keep recorded episodes, and drop all but the newest few of them."""
        path = self._transitions(key)
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, content)
        kept = [(file, Artifact.at(file)) for file in path.parent.glob("*.npz")]
        ages = {file: found.created_at for file, found in kept if found is not None}
        for old in sorted(ages, key=lambda file: ages[file])[:-keep]:
            old.unlink(missing_ok=True)

    def _transitions(self, key: str) -> Path:
        return self.path / ".transitions" / f"{key}.npz"

    @property
    def demonstrations(self) -> Path:
        """Episodes that people played, in a folder for each of them."""
        return self.path / ".demonstrations"

    @property
    def rewards(self) -> Path:
        """Rewards that people wrote and saved, in a folder for each of them."""
        return self.path / ".rewards"

    def begin_arrival(self) -> "Arrival":
        """Return an empty place for what comes from elsewhere and isn't checked yet."""
        path = self.path / ".arriving" / uuid4().hex
        path.mkdir(parents=True)
        return Arrival(path)

    def forget_arrivals(self) -> None:
        """Remove what an earlier server was about to take in."""
        shutil.rmtree(self.path / ".arriving", ignore_errors=True)

    def server_secret(self) -> bytes:
        """Return what only this server knows, made at first and readable by its user alone."""
        path = self.path / ".secret"
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_hex(_SECRET_BYTES).encode())
        return path.read_bytes()

    def claim(self) -> IO[str]:
        """Make the folder ours; the claim lasts until the returned file is closed.

        Raises:
            RunsFolderNotWritableError: if nothing can be written there.
            RunsFolderInUseError: if another server claimed it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise RunsFolderNotWritableError(str(self.path), reason) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise RunsFolderInUseError(str(self.path)) from None
        return lock

    def sizes(self) -> dict[str, int]:
        """Return how many bytes each run's files hold, those in the trash included."""
        found: dict[str, int] = {}
        for parent in (self.path, self.path / ".trash"):
            for folder in parent.iterdir() if parent.is_dir() else ():
                if folder.is_dir() and not folder.name.startswith("."):
                    found[folder.name] = _size(folder)
        return found

    def free(self) -> int:
        """Return how many bytes are left on the disk."""
        return shutil.disk_usage(self.path).free

    def set_aside(self, run_id: str) -> None:
        """Move a run's files into the trash."""
        folder, trash = self.run(run_id).path, self._trash(run_id)
        trash.parent.mkdir(exist_ok=True)
        if folder.exists():
            folder.rename(trash)

    def take_back(self, run_id: str) -> None:
        """Move a run's files out of the trash."""
        if self._trash(run_id).exists():
            self._trash(run_id).rename(self.run(run_id).path)

    def empty_trash(self, run_id: str) -> None:
        """Remove a run's files for good."""
        shutil.rmtree(self._trash(run_id), ignore_errors=True)

    def _trash(self, run_id: str) -> Path:
        return self.path / ".trash" / run_id


@dataclass(frozen=True, slots=True)
class Arrival:
    """A bundle that is being checked, and what was taken out of it so far."""

    path: Path

    @property
    def archive(self) -> Path:
        """The bundle as it came."""
        return self.path / "bundle.zip"

    @property
    def folder(self) -> RunFolder:
        """Its files as they will lie in the run's folder."""
        return RunFolder(self.path / "run")

    def move_in(self, target: RunFolder) -> None:
        """Make its files those of a run, all at once."""
        self.folder.path.rename(target.path)

    def remove(self) -> None:
        """Leave nothing of it."""
        shutil.rmtree(self.path, ignore_errors=True)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # It may be gone by now.
            total += path.lstat().st_size if path.is_file() else 0
    return total
