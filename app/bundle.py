"""A run as one file that can be taken along and checked."""

import hashlib
import json
import platform
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

from storage.records import EventRecord, JsonObject, RunRecord
from storage.run_folder import RunFolder

SCHEMA = 1
"""The version of the bundle's layout; grows when a reader would have to know."""

_PACKAGES = ("rl-lab", "stable-baselines3", "sb3-contrib", "gymnasium", "torch", "numpy")
_BLOCK = 1 << 20
_PACKED_ALREADY = (".zip", ".pt")


def write_bundle(
    target: Path, run: RunRecord, folder: RunFolder, log: Sequence[EventRecord]
) -> list[str]:
    """Write a run's files and a manifest as a zip, whole or not at all; return their names."""
    part = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            files = [_add_text(archive, "events.json", [_event(event) for event in log])]
            for path in _files(folder):
                files.append(_add_file(archive, str(path.relative_to(folder.path)), path))
            _add_text(archive, "manifest.json", _manifest(run, files))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return ["manifest.json", *(str(file["name"]) for file in files)]


def _files(folder: RunFolder) -> Iterator[Path]:
    wanted = [folder.config, folder.metrics, folder.beginning, *folder.delivered.values()]
    for checkpoint in folder.checkpoints[-1:]:
        wanted += [checkpoint.path, checkpoint.facts_path]
    return (path for path in [*wanted, *folder.evaluations] if path.is_file())


def _add_file(archive: zipfile.ZipFile, name: str, path: Path) -> JsonObject:
    member = zipfile.ZipInfo.from_file(path, name)
    is_packed = path.suffix in _PACKED_ALREADY
    member.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
    digest, size = hashlib.sha256(), 0
    # Read once: a run that trains may add lines between two looks.
    with path.open("rb") as source, archive.open(member, "w") as copy:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
            copy.write(block)
    return {"name": name, "size": size, "sha256": digest.hexdigest()}


def _add_text(archive: zipfile.ZipFile, name: str, content: object) -> JsonObject:
    text = json.dumps(content, indent=2).encode()
    archive.writestr(name, text)
    return {"name": name, "size": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def _manifest(run: RunRecord, files: Iterable[JsonObject]) -> JsonObject:
    return {
        "schema": SCHEMA,
        "exported_at": datetime.now(UTC).isoformat(),
        "run": {
            "id": run.id,
            "name": run.name,
            "status": run.status,
            "env_id": run.env_id,
            "algorithm": run.algorithm,
            "timesteps": run.progress.timesteps,
            "best": run.progress.best,
            "created_at": run.created_at.isoformat(),
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
        "files": list(files),
    }


def _event(event: EventRecord) -> JsonObject:
    return {
        "timestamp": event.timestamp.isoformat(),
        "event_type": event.event_type,
        "level": event.level,
        "message": event.message,
        "data": dict(event.data),
    }
