"""Where the files of a run lie: nobody else joins paths."""

import hashlib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from storage.files.atomic import Artifact, Content, find_unfinished, is_own_file, write_atomically
from storage.files.checkpoint_files import CheckpointFile
from storage.records.runs import JsonObject

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

    def remove_unfinished(self) -> None:
        """Delete what was being written when a server was killed; nobody may be writing now."""
        kept_in = (self._checkpoints, self.evaluations_path, self.clips_path, self.forks_path)
        for path in find_unfinished([self.path, *kept_in]):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def save_config(self, config: JsonObject) -> None:
        """Write config.json, and reward.py if it has one."""
        write_atomically(self.config, msgspec.json.format(msgspec.json.encode(config), indent=2))
        if (code := config.get("reward_code")) is not None:
            write_atomically(self.reward, code.encode())
