"""Import a run from another lab's bundle, completely or not at all."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import asdict

from app.accounts import OverLimitError, TooManyError
from app.core import InputError, StorageThread
from app.discovery import EnvironmentFinder
from app.runs import RunService
from app.sharing.archive import LARGEST_BUNDLE, BundleError, open_archive
from app.sharing.contents import Contents, assign_to_run, check_contents, read_request
from app.sharing.manifest import PROGRESS_KEYS, Manifest
from storage.database import events, runs, transaction
from storage.files import IncomingRun, LabFolder, RunFolder
from storage.records import Allowance, Progress, RunRecord, RunStatus, SolvedBy, score_of

_MAX_CONCURRENT = 2
_RETRY_AFTER_S = 30
_WRITE_BUFFER = 1 << 20
_RESERVED = 64 << 20
"""Bytes that stay free on the disk."""
_MB = 1 << 20
_KEPT_STATUSES = (RunStatus.CREATED, RunStatus.COMPLETED, RunStatus.FAILED)

_log = logging.getLogger(__name__)


class Imports:
    """Imports bundles off the event loop, a limited number at a time."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
        runs: RunService,
    ) -> None:
        self._folder = folder
        self._storage = storage
        self._environments = environments
        self._runs = runs.unchecked
        self._active = 0

    async def open(self) -> None:
        """Remove the unfinished imports of an earlier server."""
        await asyncio.to_thread(self._folder.remove_unfinished_imports)

    async def import_bundle(self, body: AsyncIterator[bytes], allowance: Allowance) -> RunRecord:
        """Create a run from a bundle.

        Raises:
            InputError: if it can't be imported; then no files remain.
            AccessError: if a limit is exceeded, or too many imports are active.
        """
        with self._limit_concurrency():
            incoming = await asyncio.to_thread(self._folder.begin_import)
            try:
                await _receive(body, incoming, allowance.max_bytes)
                return await self._check_and_add(incoming, allowance)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise InputError(f"The bundle can't be stored: {reason}.") from error
            finally:
                await asyncio.to_thread(incoming.remove)

    async def _check_and_add(self, incoming: IncomingRun, allowance: Allowance) -> RunRecord:
        manifest, log = await asyncio.to_thread(self._unpack, incoming, allowance.max_bytes)
        given, request = await asyncio.to_thread(read_request, incoming.folder)
        await self._environments.find(request.env_id, request.env_kwargs)
        contents = await asyncio.to_thread(
            check_contents, incoming.folder, manifest, log, given, request
        )
        run = await self._storage(
            _add_run, self._folder, incoming, manifest, contents, allowance.owner
        )
        _log.info("Run %s was imported", run.id)
        return await self._runs.announce_import(run, _origin(manifest))

    def _unpack(self, incoming: IncomingRun, max_bytes: int | None) -> tuple[Manifest, bytes]:
        with open_archive(incoming.archive) as archive:
            if max_bytes is not None and archive.total > max_bytes:
                raise too_large("The bundle", archive.total, max_bytes)
            if archive.total + _RESERVED > self._folder.free():
                raise InputError(
                    f"Unpacked, the bundle needs {archive.total / _MB:,.0f} MB, more than the disk "
                    f"has left. Free some space, or choose another folder with --runs-dir."
                )
            return archive.manifest, archive.unpack(incoming.folder)

    @contextmanager
    def _limit_concurrency(self) -> Iterator[None]:
        if self._active >= _MAX_CONCURRENT:
            raise TooManyError(_RETRY_AFTER_S, "imports at once")
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1


async def _receive(
    body: AsyncIterator[bytes], incoming: IncomingRun, max_bytes: int | None
) -> None:
    """Stream a body to disk, buffering only a small part in memory."""
    size, buffered = 0, bytearray()
    limit = LARGEST_BUNDLE if max_bytes is None else min(LARGEST_BUNDLE, max(0, max_bytes))
    file = await asyncio.to_thread(incoming.archive.open, "wb")
    try:
        async for piece in body:
            size += len(piece)
            buffered += piece
            if size > limit:
                raise (
                    BundleError(_LARGER)
                    if max_bytes is None
                    else too_large("The bundle", size, max_bytes)
                )
            if len(buffered) >= _WRITE_BUFFER:
                await asyncio.to_thread(file.write, bytes(buffered))
                buffered.clear()
        await asyncio.to_thread(file.write, bytes(buffered))
    finally:
        await asyncio.to_thread(file.close)
    if not size:
        raise BundleError("The body is empty. Send a bundle as it is, as application/zip.")


_LARGER = f"The bundle is larger than {LARGEST_BUNDLE >> 20} MiB."


def too_large(what: str, size: int, max_bytes: int) -> OverLimitError:
    """Return the refusal of something that doesn't fit into a user's disk quota."""
    return OverLimitError(
        f"{what} needs {size / _MB:,.0f} MB, and you may have "
        f"{max(0, max_bytes) / _MB:,.0f} MB more. Delete some runs first."
    )


def _add_run(
    folder: LabFolder,
    incoming: IncomingRun,
    manifest: Manifest,
    contents: Contents,
    owner: str | None,
) -> RunRecord:
    """Add a run to the database and to the disk atomically."""
    moved: RunFolder | None = None
    try:
        with transaction():
            run = runs.create_run(**_row(manifest, contents), owner=owner)
            events.add_past_events(run.id, [asdict(entry) for entry in contents.events])
            assign_to_run(incoming.folder, run.id, contents.config)
            moved = folder.run(run.id)
            incoming.move_to(moved)
    except BaseException:
        if moved is not None:
            moved.remove()
        raise
    return run


def _row(manifest: Manifest, contents: Contents) -> dict[str, Any]:
    run, config = manifest.run, contents.config
    progress = {name: getattr(run, name) for name in PROGRESS_KEYS}
    # An unfinished run becomes stopped, so that a user can resume it here.
    status = run.status if run.status in _KEPT_STATUSES else RunStatus.STOPPED
    return {
        "name": run.name,
        "env_id": config.env_id,
        "algorithm": config.algorithm,
        "config": config.model_dump(),
        "tags": run.tags,
        "notes": run.notes,
        "status": RunStatus.CREATED if run.started_at is None else status,
        "started_at": run.started_at,
        "finished_at": None if run.started_at is None else run.finished_at,
        "error": run.error,
        "latest_json": contents.latest,
        "score": score_of(Progress(**progress), contents.latest)[0],
        **progress,
        "solved_by": run.solved_by or (run.solved_at and SolvedBy.TRAINING_MEAN),
    }


def _origin(manifest: Manifest) -> str:
    lab = manifest.versions.get("rl-lab", "-")
    return (
        f"Imported from a bundle of {manifest.exported_at:%Y-%m-%d %H:%M} UTC: run "
        f"{manifest.run.id} of a lab with version {lab}."
    )
