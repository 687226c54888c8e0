"""Where things lie below the runs folder: nobody else joins paths."""

import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import msgspec

from storage.errors import RunsFolderInUseError, RunsFolderNotWritableError
from storage.records import JsonObject

_SECRET_BYTES = 32

Content = bytes | bytearray
"""What is written to a file."""

_PORTABLE = re.compile(
    r"config\.json|metrics\.jsonl|insights\.json|init_from\.bin|reward\.py"
    r"|(model|best)\.zip|(policy|best)\.(pt|json)|(best-)?vecnormalize\.pkl"
    r"|checkpoints/(0|[1-9][0-9]{0,15})\.(zip|pt|json)"
    r"|evaluations/[0-9a-f]{32}\.(json|mp4|steps\.gz)",
    re.ASCII,
)


def is_portable(name: str) -> bool:
    """Whether a file of this name travels with a run; nothing else is taken out of a bundle."""
    return _PORTABLE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """What was asked for, complete: a run can be repeated from it alone."""
        return self.path / "config.json"

    @property
    def reward(self) -> Path:
        """The reward function that somebody wrote for it, as config.json has it."""
        return self.path / "reward.py"

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

    def save_step(self, policy: Path, timesteps: int) -> None:
        """Note when a policy was taken that isn't named after it."""
        write_atomically(policy.with_suffix(".json"), msgspec.json.encode(timesteps))

    def step_of(self, policy: Path) -> int | None:
        """Return when that was, where it was written down."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(policy.with_suffix(".json").read_bytes(), type=int)
        return None

    def newest_policy(self) -> tuple[Path, int] | None:
        """Return the newest policy there is, and its step: a resumed run's final one is old."""
        known = [(file.timesteps, file.policy) for file in self.checkpoints]
        if (step := self.step_of(self.policy)) is not None:
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
        return sorted(self.evaluations_path.glob("*.json"))

    @property
    def evaluations_path(self) -> Path:
        """The folder of evaluations, recordings and their videos; see `EvaluationFiles`."""
        return self.path / "evaluations"

    @property
    def clips_path(self) -> Path:
        """The folder of the time machine; see `ClipFiles`."""
        return self.path / "clips"

    def evaluations_found(self) -> list[JsonObject]:
        """Return what evaluations found, oldest first; what can't be read is left out."""
        found: list[JsonObject] = []
        for path in self.evaluations_path.glob("*.json"):
            with suppress(OSError, msgspec.MsgspecError):
                found.append(msgspec.json.decode(path.read_bytes(), type=dict[str, Any]))
        return sorted(found, key=lambda one: str(one.get("created_at")))

    def stamp(self) -> tuple[float, int]:
        """Return what is another once evaluations, videos or metrics were added."""
        changed, size = 0.0, 0
        with suppress(OSError):
            changed = self.evaluations_path.stat().st_mtime
        with suppress(OSError):
            size = self.metrics.stat().st_size
        return changed, size

    def newest_clip(self) -> Path | None:
        """Return the video that was recorded last, if there is any."""
        clips = {path: Artifact.at(path) for path in self.evaluations_path.glob("*.mp4")}
        known = {path: clip.created_at for path, clip in clips.items() if clip is not None}
        return max(known, key=lambda path: known[path], default=None)

    def save_insights(self, findings: JsonObject) -> None:
        """Keep what the doctor found."""
        write_atomically(self._insights, msgspec.json.encode(findings))

    def load_insights(self) -> JsonObject | None:
        """Return what the doctor found, if it has looked and the file can be read."""
        try:
            found: JsonObject = msgspec.json.decode(self._insights.read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None
        return found

    def save_publication(self, content: bytes) -> None:
        """Keep how the run was published."""
        write_atomically(self._publication, content)

    def load_publication(self) -> bytes | None:
        """Return how the run was published, if it was."""
        try:
            return self._publication.read_bytes()
        except FileNotFoundError:
            return None

    @property
    def _publication(self) -> Path:
        return self.path / "publication.json"

    @property
    def _insights(self) -> Path:
        return self.path / "insights.json"

    @property
    def forks_path(self) -> Path:
        """The folder of the policies that it had before it was changed."""
        return self.path / "forks"

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
        """Store a checkpoint of `facts["timesteps"]`; only the newest and the pinned ones stay."""
        self._checkpoints.mkdir(exist_ok=True)
        file = CheckpointFile(self._checkpoints / f"{facts['timesteps']}.zip")
        # A run that goes on delivers the checkpoint once more from which it does.
        pinned = {"pinned": True} if file.is_pinned() else {}
        facts = {**facts, **pinned, "sha256": hashlib.sha256(content).hexdigest()}
        write_atomically(file.path, content)
        write_atomically(file.policy, policy)
        # The facts come last: a checkpoint without them isn't one.
        write_atomically(file.facts_path, msgspec.json.encode(facts))
        loose = [known for known in self.checkpoints if not known.is_pinned()]
        for old in loose[:-keep]:
            old.remove()

    def pin_checkpoint(self, file: "CheckpointFile", *, on: bool) -> None:
        """Keep a checkpoint for good, or let newer ones take its place."""
        write_atomically(file.facts_path, msgspec.json.encode({**file.facts(), "pinned": on}))

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
        try:
            # One look at the folder instead of one at each file that may be in it.
            there = {entry.name for entry in os.scandir(self.path)}
        except FileNotFoundError:
            return {}
        own = (self.config, self.reward, self.metrics)
        offered = self.delivered | {path.name: path for path in own}
        offered = {name: path for name, path in offered.items() if name in there}
        if self._checkpoints.name in there:
            offered |= {f"checkpoint-{c.timesteps}.zip": c.path for c in self.checkpoints}
        found = {name: Artifact.at(path) for name, path in offered.items()}
        return {name: artifact for name, artifact in found.items() if artifact is not None}

    def portable(self) -> list[tuple[str, Path]]:
        """Return the files that make a run the same elsewhere, by their names in a bundle.

        Of the checkpoints those that are pinned and the newest one; metrics come last, because a
        checkpoint counts lines that must be there.
        """
        kept = [file for file in self.checkpoints if file.is_pinned()]
        files = [self.config, self.reward, self.beginning, self._insights, *self.delivered.values()]
        files += [path.with_suffix(".json") for path in (self.policy, self.best_policy)]
        for file in {*kept, *self.checkpoints[-1:]}:
            files += [file.path, file.policy, file.facts_path]
        found = [(path.name, path) for path in files if path.parent == self.path]
        found += [(f"checkpoints/{path.name}", path) for path in files if path.parent != self.path]
        listed = sorted(self.evaluations_path.glob("*")) if self.evaluations_path.is_dir() else []
        found += [(f"evaluations/{path.name}", path) for path in listed]
        found.append((self.metrics.name, self.metrics))
        return [(name, path) for name, path in found if is_portable(name) and is_own_file(path)]

    def place(self, name: str) -> Path:
        """Return where a file of a bundle belongs, whose name `is_portable`."""
        if not is_portable(name):
            raise ValueError(f"{name[:80]!r} is no file of a run.")
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

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
        """Write config.json, and reward.py if it has one."""
        write_atomically(self.config, msgspec.json.format(msgspec.json.encode(config), indent=2))
        if (code := config.get("reward_code")) is not None:
            write_atomically(self.reward, code.encode())


def is_own_file(path: Path) -> bool:
    """Whether this is a file, and no link to one that is somewhere else."""
    return Artifact.at(path) is not None


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
