"""Unpack an untrusted bundle: every claim is verified, every size limited, no model opened."""

import hashlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from app.core import InputError, shorten
from app.sharing.manifest import EVENTS, FORMAT, MANIFEST, SCHEMA, FileEntry, Layout, Manifest
from storage.files import RunFolder, is_portable

LARGEST_BUNDLE = 512 << 20
"""Maximum size of an uploaded bundle in bytes."""
_LARGEST_TOTAL = 2 << 30
_LARGEST = {EVENTS: 16 << 20, MANIFEST: 4 << 20, "json": 1 << 20, "py": 64 << 10, "gz": 16 << 20}
"""Limits in bytes for files that are read completely, by name or suffix."""
_MAX_MEMBERS = 10_002
_MAX_INDEX = 4 << 20
_SMALL = 1 << 20
_MAX_RATIO = 100
"""No file of a run compresses better than this; a higher ratio indicates a zip bomb."""
_BLOCK = 1 << 20
_END = struct.Struct("<4s4H2LH")
_END_MARK, _MARK_64 = b"PK\x05\x06", b"PK\x06\x07"
_LOCATOR_64 = 20
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class BundleError(InputError):
    """A file isn't a bundle that can be imported; the message says why."""

    code = "bad_bundle"


class Archive:
    """A bundle whose index was checked; its files are checked while they are unpacked."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.members = _check_members(archive)
        self.manifest = self._read_manifest()
        self._check_files()

    @property
    def total(self) -> int:
        """Unpacked size of its files in bytes."""
        return sum(member.file_size for member in self.members.values())

    def unpack(self, folder: RunFolder) -> bytes:
        """Write its files into a folder; return the event log, which goes into the database.

        Raises:
            BundleError: if a file doesn't match the manifest.
        """
        folder.path.mkdir(parents=True)
        events = b""
        for entry in self.manifest.files:
            if entry.name == EVENTS:
                events = b"".join(self._blocks(entry))
                continue
            with folder.place(entry.name).open("wb") as copy:
                for block in self._blocks(entry):
                    copy.write(block)
        return events

    def _blocks(self, entry: FileEntry) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        with _report_damage(entry.name), self._archive.open(self.members[entry.name]) as source:
            while block := source.read(_BLOCK):
                size += len(block)
                if size > entry.size:
                    break
                digest.update(block)
                yield block
        if (size, digest.hexdigest()) != (entry.size, entry.sha256):
            raise BundleError(
                f"{entry.name} doesn't match the bundle's manifest: it was changed or damaged. "
                "Export the run again."
            )

    def _read_manifest(self) -> Manifest:
        member = self.members.get(MANIFEST)
        if member is None:
            raise BundleError("This zip is not a run bundle: it has no manifest.json.")
        with _report_damage(MANIFEST), self._archive.open(member) as source:
            content = source.read(_LARGEST[MANIFEST])
        try:
            layout = msgspec.json.decode(content, type=Layout)
            if layout.format == FORMAT and layout.schema > SCHEMA:
                raise BundleError(
                    f"The bundle was made by a newer lab (layout {layout.schema}, this one reads "
                    f"up to {SCHEMA}). Update this lab."
                )
            manifest = msgspec.json.decode(content, type=Manifest)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise BundleError(f"The bundle's manifest can't be read: {error}.") from None
        if manifest.format != FORMAT or manifest.schema != SCHEMA:
            raise BundleError("This zip is not a run bundle: its manifest has another format.")
        return manifest

    def _check_files(self) -> None:
        listed = [entry.name for entry in self.manifest.files]
        if len(set(listed)) < len(listed) or {*listed, MANIFEST} != set(self.members):
            raise BundleError("The bundle's files differ from those in its manifest.")
        for name in ("config.json", EVENTS):
            if name not in self.members:
                raise BundleError(f"The bundle lacks {name}.")
        for entry in self.manifest.files:
            if entry.size != self.members[entry.name].file_size:
                raise BundleError(f"{entry.name} doesn't have the size in the bundle's manifest.")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Check a zip's index and open it.

    Raises:
        BundleError: if it is no bundle, or one that this lab can't import.
    """
    _check_end(path)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
        raise BundleError(_INCOMPLETE) from None
    with archive:
        yield Archive(archive)


_INCOMPLETE = "This is not a zip file, or it is incomplete. Send the complete bundle."


def _check_end(path: Path) -> None:
    """Check the size of the index before it is read into memory."""
    size = path.stat().st_size
    if size < _END.size:
        raise BundleError(_INCOMPLETE)
    with path.open("rb") as file:
        before = min(_LOCATOR_64, size - _END.size)
        file.seek(size - _END.size - before)
        tail = file.read()
    mark, *_, count, index_size, begin, comment = _END.unpack(tail[before:])
    # Bundles are written without a comment, and ZIP64 archives exceed the limits.
    if mark != _END_MARK or comment or tail[:before].startswith(_MARK_64):
        raise BundleError(_INCOMPLETE)
    if count > _MAX_MEMBERS or index_size > _MAX_INDEX:
        raise BundleError(f"The zip has {count:,} files; a bundle has fewer.")
    if begin + index_size + _END.size != size:
        raise BundleError(_INCOMPLETE)


def _check_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename
        if member.orig_filename != name or not _is_allowed(name):
            raise BundleError(
                f"The zip holds {shorten(member.orig_filename)}, which is not part of a run."
            )
        if name in found:
            raise BundleError(f"The zip holds {name} twice.")
        _check_member(member)
        found[name] = member
    if sum(member.file_size for member in found.values()) > _LARGEST_TOTAL:
        raise BundleError(f"Unpacked, the bundle is larger than {_LARGEST_TOTAL >> 30} GiB.")
    return found


def _is_allowed(name: str) -> bool:
    return name in (MANIFEST, EVENTS) or is_portable(name)


def _check_member(member: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise BundleError(f"{member.filename} is a link or another kind of special file.")
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        raise BundleError(f"{member.filename} uses a compression method that bundles don't use.")
    largest = _LARGEST.get(member.filename) or _LARGEST.get(member.filename.rpartition(".")[2])
    if largest is not None and member.file_size > largest:
        raise BundleError(f"{member.filename} is larger than {largest >> 10:,} KiB.")
    if member.file_size > max(_SMALL, member.compress_size * _MAX_RATIO):
        raise BundleError(f"{member.filename} has an implausible compression ratio.")


@contextmanager
def _report_damage(name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise BundleError(f"{name} is damaged. Send the bundle again.") from None
