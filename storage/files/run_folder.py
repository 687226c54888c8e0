"""The files of a run; no other module builds their paths."""

import hashlib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from storage.files.atomic import (
    Artifact,
    Content,
    find_unfinished,
    is_own_file,
    read_optional,
    write_atomically,
)
from storage.files.checkpoint_files import CheckpointFile
from storage.records import JsonObject

_PORTABLE = re.compile(
    r"config\.json|metrics\.jsonl|insights\.json|init_from\.bin|reward\.py"
    r"|(model|best)\.zip|(policy|best)\.(pt|json)|(best-)?vecnormalize\.pkl"
    r"|checkpoints/(0|[1-9][0-9]{0,15})\.(zip|pt|json)"
    r"|evaluations/[0-9a-f]{32}\.(json|mp4|steps\.gz)",
    re.ASCII,
)


def is_portable(name: str) -> bool:
    """Whether bundles may contain a file of this name; no other file is exported or unpacked."""
    return _PORTABLE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """The complete config, sufficient to repeat the run."""
        return self.path / "config.json"

    @property
    def reward(self) -> Path:
        """The code of the custom reward, a copy of the one in config.json."""
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
        """Paths of the files that a worker delivers in addition to checkpoints."""
        normalization = ("vecnormalize.pkl", "best-vecnormalize.pkl")
        names = ("model.zip", "policy.pt", "best.zip", "best.pt", *normalization)
        return {name: self.path / name for name in names}

    @property
    def policy(self) -> Path:
        """The final or stopped policy: weights and normalization."""
        return self.path / "policy.pt"

    def save_step(self, policy: Path, timesteps: int) -> None:
        """Store the step of a policy whose file isn't named after it."""
        write_atomically(policy.with_suffix(".json"), msgspec.json.encode(timesteps))

    def step_of(self, policy: Path) -> int | None:
        """Return the step stored by `save_step`, if any."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(policy.with_suffix(".json").read_bytes(), type=int)
        return None

    def newest_policy(self) -> tuple[Path, int] | None:
        """Return the newest policy and its step; a resumed run's final one may be outdated."""
        known = [(file.timesteps, file.policy) for file in self.checkpoints]
        if (step := self.step_of(self.policy)) is not None:
            known.append((step, self.policy))
        if not known:
            return None
        timesteps, path = max(known, key=lambda one: one[0])
        return path, timesteps

    @property
    def best_policy(self) -> Path:
        """The policy with the best periodic evaluation: weights and normalization."""
        return self.path / "best.pt"

    @property
    def evaluations(self) -> list[Path]:
        """The records of evaluations, one JSON file each."""
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
        """Return the records of evaluations, oldest first; skip those that can't be read."""
        found: list[JsonObject] = []
        for path in self.evaluations_path.glob("*.json"):
            with suppress(OSError, msgspec.MsgspecError):
                found.append(msgspec.json.decode(path.read_bytes(), type=dict[str, Any]))
        return sorted(found, key=lambda one: str(one.get("created_at")))

    def stamp(self) -> tuple[float, int]:
        """Return a value that changes when evaluations, videos or metrics are added."""
        changed, size = 0.0, 0
        with suppress(OSError):
            changed = self.evaluations_path.stat().st_mtime
        with suppress(OSError):
            size = self.metrics.stat().st_size
        return changed, size

    def newest_video(self) -> Path | None:
        """Return the newest video of an evaluation or recording, if any."""
        videos = {path: Artifact.at(path) for path in self.evaluations_path.glob("*.mp4")}
        known = {path: video.created_at for path, video in videos.items() if video is not None}
        return max(known, key=lambda path: known[path], default=None)

    def save_insights(self, findings: JsonObject) -> None:
        """Store the doctor's findings."""
        write_atomically(self._insights, msgspec.json.encode(findings))

    def load_insights(self) -> JsonObject | None:
        """Return the doctor's findings, if the file exists and can be read."""
        try:
            found: JsonObject = msgspec.json.decode(self._insights.read_bytes())
        except (OSError, msgspec.MsgspecError):
            return None
        return found

    def save_publication(self, content: bytes) -> None:
        """Store the state of the run's publication."""
        write_atomically(self._publication, content)

    def load_publication(self) -> bytes | None:
        """Return the state of the run's publication, if any."""
        return read_optional(self._publication)

    @property
    def _publication(self) -> Path:
        return self.path / "publication.json"

    @property
    def _insights(self) -> Path:
        return self.path / "insights.json"

    @property
    def snapshots_path(self) -> Path:
        """The folder of policy snapshots from before changes; see `SnapshotFiles`."""
        return self.path / "forks"

    @property
    def initial_policy(self) -> Path:
        """The policy of another run that this one started from."""
        return self.path / "init_from.bin"

    @property
    def checkpoints(self) -> list["CheckpointFile"]:
        """The complete checkpoints, oldest first."""
        if not self._checkpoints.is_dir():
            return []
        found = [CheckpointFile(path) for path in self._checkpoints.glob("*.zip")]
        return sorted((c for c in found if c.is_complete), key=lambda c: c.timesteps)

    def save_checkpoint(
        self, content: Content, facts: JsonObject, *, policy: Content = b"", keep: int
    ) -> None:
        """Store a checkpoint of step `facts["timesteps"]`; keep only `keep` and the pinned ones."""
        self._checkpoints.mkdir(exist_ok=True)
        file = CheckpointFile(self._checkpoints / f"{facts['timesteps']}.zip")
        # A resumed run delivers the checkpoint from which it resumes again.
        pinned = {"pinned": True} if file.is_pinned() else {}
        facts = {**facts, **pinned, "sha256": hashlib.sha256(content).hexdigest()}
        write_atomically(file.path, content)
        write_atomically(file.policy, policy)
        # Write the facts last: a checkpoint without them is incomplete.
        write_atomically(file.facts_path, msgspec.json.encode(facts))
        unpinned = [known for known in self.checkpoints if not known.is_pinned()]
        for old in unpinned[:-keep]:
            old.remove()

    def pin_checkpoint(self, file: "CheckpointFile", *, on: bool) -> None:
        """Pin a checkpoint, or unpin it so that newer ones may replace it."""
        write_atomically(file.facts_path, msgspec.json.encode({**file.facts(), "pinned": on}))

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def last_frame(self) -> Path:
        """The last frame of the live view that was sent."""
        return self.path / "frame.jpg"

    @property
    def last_frame_header(self) -> Path:
        """The header of the last frame."""
        return self.path / "frame.json"

    @property
    def worker_log(self) -> Path:
        """The worker's output, and the traceback if it failed."""
        return self.path / "worker.log"

    def artifacts(self) -> dict[str, "Artifact"]:
        """Return the downloadable files that exist, by name."""
        try:
            # One directory scan instead of one stat call per possible file.
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
        """Return the files of a bundle by their names in it.

        They include the pinned checkpoints and the newest one. Metrics come last, because a
        checkpoint counts lines that must exist.
        """
        kept = [file for file in self.checkpoints if file.is_pinned()]
        own = (self.config, self.reward, self.initial_policy, self._insights)
        files = [*own, *self.delivered.values()]
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
        """Return the path for a file of a bundle, whose name must be portable."""
        if not is_portable(name):
            raise ValueError(f"{name[:80]!r} is not a file of a run.")
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def create(self, config: JsonObject, initial_policy: bytes | None = None) -> None:
        """Create the folder with config.json and, if given, the policy to start from."""
        self.path.mkdir(parents=True)
        self.save_config(config)
        if initial_policy is not None:
            write_atomically(self.initial_policy, initial_policy)

    def remove_unfinished(self) -> None:
        """Delete temporary files that a killed server left; nothing may be writing now."""
        kept_in = (self._checkpoints, self.evaluations_path, self.clips_path, self.snapshots_path)
        for path in find_unfinished([self.path, *kept_in]):
            path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the folder and its contents."""
        shutil.rmtree(self.path, ignore_errors=True)

    def save_config(self, config: JsonObject) -> None:
        """Write config.json, and reward.py if the config has a custom reward."""
        write_atomically(self.config, msgspec.json.format(msgspec.json.encode(config), indent=2))
        if (code := config.get("reward_code")) is not None:
            write_atomically(self.reward, code.encode())
