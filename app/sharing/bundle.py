"""Pack a run into one portable file with checksums."""

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
    current_versions,
)
from storage.files import RunFolder
from storage.records import EventRecord, RunRecord

_BLOCK = 1 << 18
_COMPRESSED = (".zip", ".pt", ".mp4", ".gz", ".bin")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def bundle_name(run: RunRecord) -> str:
    """Return a bundle's file name: the run's name in characters that every file system allows."""
    return f"{_UNSAFE.sub('-', run.name).strip('.-')[:80] or run.id}.rllab.zip"


class Bundle:
    """Packs a run as a stream, so that it is never held in memory or stored twice on disk."""

    def __init__(self, run: RunRecord, folder: RunFolder, log: Sequence[EventRecord]) -> None:
        self.entries: list[FileEntry] = []
        """The files packed so far."""
        self._run = run
        self._folder = folder
        self._log = log
        self._buffer = _ZipBuffer()

    def pieces(self) -> Iterator[bytes]:
        """Yield the zip piece by piece; does blocking I/O, so call it on a thread."""
        buffer = self._buffer
        with ExitStack() as stack, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, source in _open_files(self._folder.portable(), stack):
                yield from self._add(archive, name, source)
            self.entries.append(_add_text(archive, EVENTS, [*map(EventEntry.of, self._log)]))
            manifest = Manifest(
                exported_at=datetime.now(UTC),
                run=RunEntry.of(self._run),
                versions=current_versions(),
                files=self.entries,
            )
            _add_text(archive, MANIFEST, manifest)
        yield buffer.take()

    def _add(self, archive: zipfile.ZipFile, name: str, source: IO[bytes]) -> Iterator[bytes]:
        member = zipfile.ZipInfo(name, datetime.now(UTC).timetuple()[:6])
        is_packed = name.endswith(_COMPRESSED)
        member.compress_type = zipfile.ZIP_STORED if is_packed else zipfile.ZIP_DEFLATED
        digest, size = hashlib.sha256(), 0
        # A training run keeps adding lines: pack only what exists now.
        left = _length_of_whole_lines(source) if name.endswith(".jsonl") else _length(source)
        member.file_size = left
        with source, archive.open(member, "w", force_zip64=left >= zipfile.ZIP64_LIMIT) as copy:
            while left > 0 and (block := source.read(min(_BLOCK, left))):
                left -= len(block)
                size += len(block)
                digest.update(block)
                copy.write(block)
                if self._buffer.is_full:
                    yield self._buffer.take()
        self.entries.append(FileEntry(name=name, size=size, sha256=digest.hexdigest()))


def write_bundle(
    target: Path, run: RunRecord, folder: RunFolder, log: Sequence[EventRecord]
) -> list[str]:
    """Write a run's files and a manifest to a zip atomically; return their names."""
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


class _ZipBuffer:
    """A write-only file for `ZipFile` whose content is consumed while it is written."""

    def __init__(self) -> None:
        self._written = bytearray()

    @property
    def is_full(self) -> bool:
        return len(self._written) >= _BLOCK

    def write(self, content: bytes, /) -> int:
        self._written += content
        return len(content)

    def flush(self) -> None:
        """Do nothing: there is no underlying file."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def take(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken


def _open_files(
    files: Sequence[tuple[str, Path]], stack: ExitStack
) -> Iterator[tuple[str, IO[bytes]]]:
    """Open the files in turn, but all checkpoints up front: newer ones may replace them."""
    early: dict[str, IO[bytes]] = {}
    for name, path in files:
        if name.startswith("checkpoints/"):
            with suppress(FileNotFoundError):
                early[name] = stack.enter_context(path.open("rb"))
    whole = {name for name in early if _is_complete(Path(name).with_suffix(""), early)}
    for name, path in files:
        if name in whole:
            yield name, early[name]
        elif not name.startswith("checkpoints/"):
            with suppress(FileNotFoundError):
                yield name, stack.enter_context(path.open("rb"))


def _is_complete(stem: Path, early: dict[str, IO[bytes]]) -> bool:
    return all(f"{stem}{suffix}" in early for suffix in (".zip", ".pt", ".json"))


def _length(source: IO[bytes]) -> int:
    length = source.seek(0, 2)
    source.seek(0)
    return length


def _length_of_whole_lines(source: IO[bytes]) -> int:
    """Return the length of all complete lines in bytes."""
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
