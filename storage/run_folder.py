"""Where things lie below the runs folder: nobody else joins paths."""

import fcntl
import hashlib
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from uuid import uuid4

import msgspec

from storage.errors import RunsFolderInUseError, RunsFolderNotWritableError
from storage.records import JsonObject

_SECRET_BYTES = 32

Content = bytes | bytearray
"""What is written to a file."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """What was asked for, complete: a run can be repeated from it alone."""
        return self.path / "config.json"

    @property
    def metrics(self) -> Path:
        """One JSON object per line, append-only."""
        return self.path / "metrics.jsonl"

    @property
    def model(self) -> Path:
        """The final or stopped model, a plain SB3 zip."""
        return self.path / "model.zip"

    @property
    def delivered(self) -> dict[str, Path]:
        """Where the files lie that a worker delivers beside its checkpoints."""
        scaling = ("vecnormalize.pkl", "best-vecnormalize.pkl")
        names = ("model.zip", "policy.pt", "best.zip", "best.pt", *scaling)
        return {name: self.path / name for name in names}

    @property
    def policy(self) -> Path:
        """The weights and scaling of the final or stopped policy, to play with."""
        return self.path / "policy.pt"

    def save_policy_step(self, timesteps: int) -> None:
        """Note when the final or stopped policy was taken."""
        write_atomically(self.policy.with_suffix(".json"), msgspec.json.encode(timesteps))

    def newest_policy(self) -> tuple[Path, int] | None:
        """Return the newest policy there is, and its step: a resumed run's final one is old."""
        known = [(file.timesteps, file.policy) for file in self.checkpoints]
        with suppress(OSError, msgspec.MsgspecError):
            step = msgspec.json.decode(self.policy.with_suffix(".json").read_bytes(), type=int)
            known.append((step, self.policy))
        if not known:
            return None
        timesteps, path = max(known, key=lambda one: one[0])
        return path, timesteps

    @property
    def best_policy(self) -> Path:
        """The weights and scaling of the policy that evaluations beside training liked best."""
        return self.path / "best.pt"

    @property
    def evaluations(self) -> list[Path]:
        """What evaluations found, one JSON file each."""
        return sorted((self.path / "evaluations").glob("*.json"))

    def save_evaluation(self, evaluation_id: str, found: JsonObject) -> None:
        """Store what an evaluation found."""
        path = self.path / "evaluations" / f"{evaluation_id}.json"
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, msgspec.json.format(msgspec.json.encode(found), indent=2))

    @property
    def beginning(self) -> Path:
        """The policy of another run that this one began with."""
        return self.path / "init_from.bin"

    @property
    def checkpoints(self) -> list["CheckpointFile"]:
        """The checkpoints that are whole, oldest first."""
        if not self._checkpoints.is_dir():
            return []
        found = [CheckpointFile(path) for path in self._checkpoints.glob("*.zip")]
        return sorted((c for c in found if c.is_whole), key=lambda c: c.timesteps)

    def save_checkpoint(
        self, content: Content, facts: JsonObject, *, policy: Content = b"", keep: int
    ) -> None:
        """Store a checkpoint taken at `facts["timesteps"]` and drop all but the newest."""
        facts = {**facts, "sha256": hashlib.sha256(content).hexdigest()}
        self._checkpoints.mkdir(exist_ok=True)
        file = CheckpointFile(self._checkpoints / f"{facts['timesteps']}.zip")
        write_atomically(file.path, content)
        write_atomically(file.policy, policy)
        # The facts come last: a checkpoint without them isn't one.
        write_atomically(file.facts_path, msgspec.json.encode(facts))
        for old in self.checkpoints[:-keep]:
            old.remove()

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def last_frame(self) -> Path:
        """The last picture that anybody saw of the run."""
        return self.path / "frame.jpg"

    @property
    def last_frame_header(self) -> Path:
        """What that picture shows."""
        return self.path / "frame.json"

    @property
    def worker_log(self) -> Path:
        """What the worker printed, and the traceback if it failed."""
        return self.path / "worker.log"

    def artifacts(self) -> dict[str, "Artifact"]:
        """Return the downloadable files that exist, by name."""
        offered = self.delivered | {path.name: path for path in (self.config, self.metrics)}
        offered |= {f"checkpoint-{c.timesteps}.zip": c.path for c in self.checkpoints}
        found = {name: Artifact.at(path) for name, path in offered.items()}
        return {name: artifact for name, artifact in found.items() if artifact is not None}

    def create(self, config: JsonObject, beginning: bytes | None = None) -> None:
        """Make the folder with its config.json, and the policy to begin with if there is one."""
        self.path.mkdir(parents=True)
        self.save_config(config)
        if beginning is not None:
            write_atomically(self.beginning, beginning)

    def remove(self) -> None:
        """Delete the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def save_config(self, config: JsonObject) -> None:
        """Write config.json."""
        write_atomically(self.config, msgspec.json.format(msgspec.json.encode(config), indent=2))


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file of a run that can be downloaded."""

    path: Path
    size: int
    created_at: datetime

    @classmethod
    def at(cls, path: Path) -> "Artifact | None":
        """Look at a file; it may be gone by now."""
        try:
            facts = path.stat()
        except FileNotFoundError:
            return None
        return cls(path, facts.st_size, datetime.fromtimestamp(facts.st_mtime, UTC))


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


@dataclass(frozen=True, slots=True)
class RunsFolder:
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

    @property
    def _environments(self) -> Path:
        return self.path / ".environments.json"

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


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # It may be gone by now.
            total += path.lstat().st_size if path.is_file() else 0
    return total


def write_atomically(path: Path, content: Content) -> None:
    """Write a file so that it is there whole or not at all, also after a crash."""
    # A name of its own: two may write the same file at once, and the last one wins.
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
