"""The folder of a lab: the run folders and the files of the lab itself."""

import fcntl
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import uuid4

from storage import RunsFolderInUseError, RunsFolderNotWritableError
from storage.files.atomic import Artifact, read_optional, write_atomically
from storage.files.run_folder import RunFolder

_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class LabFolder:
    """The folder that holds all data of the lab."""

    path: Path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / "lab.db"

    @property
    def previews(self) -> Path:
        """Rendered previews of environments, made once."""
        return self.path / ".previews"

    def run(self, run_id: str) -> RunFolder:
        """Return the folder of the run with this id, which must come from the database."""
        return RunFolder(self.path / run_id)

    def preview(self, env_id: str) -> Path:
        """Return the path of the preview of an environment."""
        return self.previews / f"{env_id.replace('/', '-')}.png"

    def save_preview(self, env_id: str, content: bytes) -> None:
        """Store the preview of an environment."""
        self.previews.mkdir(exist_ok=True)
        write_atomically(self.preview(env_id), content)

    def avatar(self, user_id: str) -> Path:
        """Return the path of the profile picture of the user with this id, who must exist."""
        return self.path / ".avatars" / f"{user_id}.png"

    def save_avatar(self, user_id: str, content: bytes) -> None:
        """Store the profile picture of a user."""
        self.avatar(user_id).parent.mkdir(exist_ok=True)
        write_atomically(self.avatar(user_id), content)

    def remove_avatar(self, user_id: str) -> None:
        """Delete the profile picture of a user."""
        self.avatar(user_id).unlink(missing_ok=True)

    def read_environments(self) -> bytes | None:
        """Return the stored data about environments outside the catalogue, if any."""
        return read_optional(self._environments)

    def save_environments(self, content: bytes) -> None:
        """Store the data about environments outside the catalogue."""
        write_atomically(self._environments, content)

    def read_custom_environments(self) -> dict[str, bytes]:
        """Return the stored custom environments by name."""
        return {path.stem: path.read_bytes() for path in sorted(self._custom.glob("*.json"))}

    def save_custom_environment(self, name: str, content: bytes) -> None:
        """Store a custom environment."""
        self._custom.mkdir(exist_ok=True)
        write_atomically(self._custom / f"{name}.json", content)

    @property
    def _custom(self) -> Path:
        return self.path / ".custom"

    @property
    def _environments(self) -> Path:
        return self.path / ".environments.json"

    def read_random_scores(self) -> bytes | None:
        """Return the stored scores of random play, if any."""
        return read_optional(self._random_scores)

    def save_random_scores(self, content: bytes) -> None:
        """Store the scores of random play."""
        write_atomically(self._random_scores, content)

    @property
    def _random_scores(self) -> Path:
        return self.path / ".random_scores.json"

    def read_transitions(self, key: str) -> bytes | None:
        """Return the recorded episodes stored under this hexadecimal key, if any."""
        return read_optional(self._transitions(key))

    def save_transitions(self, key: str, content: bytes, *, keep: int) -> None:
        """Store recorded episodes, and delete all but the newest `keep` files."""
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
        """Episodes that users played, in a folder per user."""
        return self.path / ".demonstrations"

    @property
    def rewards(self) -> Path:
        """Custom rewards that users saved, in a folder per user."""
        return self.path / ".rewards"

    def begin_import(self) -> "IncomingRun":
        """Create an empty folder for a run that is being imported."""
        path = self.path / ".arriving" / uuid4().hex
        path.mkdir(parents=True)
        return IncomingRun(path)

    def remove_unfinished_imports(self) -> None:
        """Remove imports that an earlier server left unfinished."""
        shutil.rmtree(self.path / ".arriving", ignore_errors=True)

    def server_secret(self) -> bytes:
        """Return the server's secret, created on first use and readable only by its OS user."""
        path = self.path / ".secret"
        with suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_hex(_SECRET_BYTES).encode())
        return path.read_bytes()

    def claim(self) -> IO[str]:
        """Lock the folder for this server until the returned file is closed.

        Raises:
            RunsFolderNotWritableError: if it can't be written.
            RunsFolderInUseError: if another server has locked it.
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
        """Return the size of each run's files in bytes, including runs in the trash."""
        found: dict[str, int] = {}
        for parent in (self.path, self.path / ".trash"):
            for folder in parent.iterdir() if parent.is_dir() else ():
                if folder.is_dir() and not folder.name.startswith("."):
                    found[folder.name] = _size(folder)
        return found

    def free(self) -> int:
        """Return the free disk space in bytes."""
        return shutil.disk_usage(self.path).free

    def move_to_trash(self, run_id: str) -> None:
        """Move a run's files into the trash."""
        folder, trash = self.run(run_id).path, self._trash(run_id)
        trash.parent.mkdir(exist_ok=True)
        if folder.exists():
            folder.rename(trash)

    def restore_from_trash(self, run_id: str) -> None:
        """Move a run's files out of the trash."""
        trash, folder = self._trash(run_id), self.run(run_id).path
        if trash.exists() and not folder.exists():
            trash.rename(folder)

    def trashed_runs(self) -> tuple[str, ...]:
        """Return the ids of the runs whose files are in the trash."""
        folder = self.path / ".trash"
        names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
        return tuple(name for name in names if not name.startswith("."))

    def erase(self, run_id: str) -> None:
        """Delete a run's files permanently, also those that a killed server had not yet moved."""
        shutil.rmtree(self._trash(run_id), ignore_errors=True)
        self.run(run_id).remove()

    def _trash(self, run_id: str) -> Path:
        return self.path / ".trash" / run_id


@dataclass(frozen=True, slots=True)
class IncomingRun:
    """A folder for a run that is being imported and is not checked yet."""

    path: Path

    @property
    def archive(self) -> Path:
        """The bundle as received."""
        return self.path / "bundle.zip"

    @property
    def folder(self) -> RunFolder:
        """The unpacked files in the layout of a run's folder."""
        return RunFolder(self.path / "run")

    def move_to(self, target: RunFolder) -> None:
        """Move the files to the folder of a run, atomically."""
        self.folder.path.rename(target.path)

    def remove(self) -> None:
        """Delete the folder, if it still exists."""
        shutil.rmtree(self.path, ignore_errors=True)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # It may have been deleted in the meantime.
            total += path.lstat().st_size if path.is_file() else 0
    return total
