"""A run as one file that can be taken along and checked."""

import hashlib
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO
from uuid import uuid4

import msgspec

from app.sharing.manifest import (
    EVENTS,
    MANIFEST,
    EventEntry,
    FileEntry,
    Manifest,
    RunEntry,
    versions_here,
)
from storage.files.run_folder import RunFolder
from storage.records.runs import EventRecord, RunRecord

_BLOCK = 1 << 18
_PACKED_ALREADY = (".zip", ".pt", ".mp4", ".gz", ".bin")
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


def bundle_name(run: RunRecord) -> str:
    """Return how a bundle's file is called: by the run's name, in letters that every disk takes."""
    return f"{_UNUSUAL.sub('-', run.name).strip('.-')[:80] or run.id}.rllab.zip"


class Bundle:
    """Packs a run while it is read, so that it is never held in memory or twice on disk."""

    def __init__(self, run: RunRecord, folder: RunFolder, log: Sequence[EventRecord]) -> None:
        self.entries: list[FileEntry] = []
        """What was packed so far."""
        self._run = run
        self._folder = folder
        self._log = log
        self._outlet = _Outlet()

    def pieces(self) -> Iterator[bytes]:
        """Yield the zip piece by piece; reads files and belongs on a thread."""
        outlet = self._outlet
        with ExitStack() as held, zipfile.ZipFile(outlet, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, source in _opened(self._folder.portable(), held):
                yield from self._add(archive, name, source)
            self.entries.append(_add_text(archive, EVENTS, [*map(EventEntry.of, self._log)]))
            manifest = Manifest(
                exported_at=datetime.now(UTC),
                run=RunEntry.of(self._run),
                versions=versions_here(),
                files=self.entries,
            )
            _add_text(archive, MANIFEST, manifest)
        yield outlet.take()

    def _add(self, archive: zipfile.ZipFile, name: str, source: IO[bytes]) -> Iterator[bytes]:
        member = zipfile.ZipInfo(name, datetime.now(UTC).timetuple()[:6])
        is_packed = name.endswith(_PACKED_ALREADY)
        member.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
        digest, size = hashlib.sha256(), 0
        # A run that trains adds lines meanwhile: what is there now is what is packed.
        left = _whole_lines(source) if name.endswith(".jsonl") else _length(source)
        member.file_size = left
        with source, archive.open(member, "w", force_zip64=left >= zipfile.ZIP64_LIMIT) as copy:
            while left > 0 and (block := source.read(min(_BLOCK, left))):
                left -= len(block)
                size += len(block)
                digest.update(block)
                copy.write(block)
                if self._outlet.is_full:
                    yield self._outlet.take()
        self.entries.append(FileEntry(name=name, size=size, sha256=digest.hexdigest()))


def write_bundle(
    target: Path, run: RunRecord, folder: RunFolder, log: Sequence[EventRecord]
) -> list[str]:
    """Write a run's files and a manifest as a zip, whole or not at all; return their names."""
    part = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
    bundle = Bundle(run, folder, log)
    try:
        with part.open("wb") as file:
            for piece in bundle.pieces():
                file.write(piece)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return [MANIFEST, *(entry.name for entry in bundle.entries)]


class _Outlet:
    """Where a zip is written to, and from where it is taken at once."""

    def __init__(self) -> None:
        self._written = bytearray()

    @property
    def is_full(self) -> bool:
        return len(self._written) >= _BLOCK

    def write(self, content: bytes, /) -> int:
        self._written += content
        return len(content)

    def flush(self) -> None:
        """Do nothing: what was written is there."""

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken


def _opened(files: Sequence[tuple[str, Path]], held: ExitStack) -> Iterator[tuple[str, IO[bytes]]]:
    """Open files in turn, those of checkpoints at once: newer ones may take their place."""
    early: dict[str, IO[bytes]] = {}
    for name, path in files:
        if name.startswith("checkpoints/"):
            with suppress(FileNotFoundError):
                early[name] = held.enter_context(path.open("rb"))
    whole = {name for name in early if _are_whole(Path(name).with_suffix(""), early)}
    for name, path in files:
        if name in whole:
            yield name, early[name]
        elif not name.startswith("checkpoints/"):
            with suppress(FileNotFoundError):
                yield name, held.enter_context(path.open("rb"))


def _are_whole(stem: Path, early: dict[str, IO[bytes]]) -> bool:
    return all(f"{stem}{suffix}" in early for suffix in (".zip", ".pt", ".json"))


def _length(source: IO[bytes]) -> int:
    length = source.seek(0, 2)
    source.seek(0)
    return length


def _whole_lines(source: IO[bytes]) -> int:
    """Return how many bytes the lines take that were written to their end."""
    length = position = _length(source)
    while position > 0:
        step = min(_BLOCK, position)
        position -= step
        source.seek(position)
        if (found := source.read(step).rfind(b"\n")) >= 0:
            length = position + found + 1
            break
    else:
        length = 0
    source.seek(0)
    return length


def _add_text(archive: zipfile.ZipFile, name: str, content: object) -> FileEntry:
    text = msgspec.json.format(msgspec.json.encode(content), indent=2)
    archive.writestr(name, text)
    return FileEntry(name=name, size=len(text), sha256=hashlib.sha256(text).hexdigest())
