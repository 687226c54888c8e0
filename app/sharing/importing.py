"""Take a run in that comes from another lab: all of it, or nothing."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from app.accounts.errors import OverLimitError, TooManyError
from app.core.errors import InputError
from app.core.storage_thread import StorageThread
from app.discovery.environment_finder import EnvironmentFinder
from app.runs.service import RunService
from app.sharing.archive import LARGEST_BUNDLE, BundleError, open_archive
from app.sharing.contents import Contents, adopt, check_contents, read_request
from app.sharing.manifest import EventEntry, Manifest
from storage.database import events, runs
from storage.database.database import in_one_step
from storage.files.lab_folder import Arrival, LabFolder
from storage.files.run_folder import RunFolder
from storage.records.runs import RunRecord, RunStatus

_AT_ONCE = 2
_BUSY_FOR_S = 30
_WRITE_AFTER = 1 << 20
_SPARE = 64 << 20
"""Bytes that are left free on the disk."""
_MB = 1 << 20
_KEPT_STATUSES = (RunStatus.CREATED, RunStatus.COMPLETED, RunStatus.FAILED)

_log = logging.getLogger(__name__)


class Imports:
    """Checks bundles off the event loop, a few at a time."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
        trainer: RunService,
    ) -> None:
        self._folder = folder
        self._storage = storage
        self._environments = environments
        self._trainer = trainer
        self._under_way = 0

    async def open(self) -> None:
        """Remove what an earlier server was about to take in."""
        await asyncio.to_thread(self._folder.forget_arrivals)

    async def take_in(
        self, body: AsyncIterator[bytes], *, owner: str | None, room: int | None
    ) -> RunRecord:
        """Make a run of a bundle; `room` is how many bytes its owner may still have.

        Raises:
            InputError: if it isn't one that can be taken in; then nothing is left of it.
            AccessError: if there is no room, or others are being taken in.
        """
        with self._one_more():
            arrival = await asyncio.to_thread(self._folder.begin_arrival)
            try:
                await _receive(body, arrival, room)
                return await self._check_and_add(arrival, owner, room)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise InputError(f"The bundle can't be stored: {reason}.") from error
            finally:
                await asyncio.to_thread(arrival.remove)

    async def _check_and_add(
        self, arrival: Arrival, owner: str | None, room: int | None
    ) -> RunRecord:
        manifest, log = await asyncio.to_thread(self._unpack, arrival, room)
        given, request = await asyncio.to_thread(read_request, arrival.folder)
        await self._environments.find(request.env_id, request.env_kwargs)
        contents = await asyncio.to_thread(
            check_contents, arrival.folder, manifest, log, given, request
        )
        run = await self._storage(_add, self._folder, arrival, manifest, contents, owner)
        _log.info("Run %s was imported", run.id)
        return await self._trainer.announce_import(run, _where_from(manifest))

    def _unpack(self, arrival: Arrival, room: int | None) -> tuple[Manifest, bytes]:
        with open_archive(arrival.archive) as archive:
            if room is not None and archive.total > room:
                raise _too_large(archive.total, room)
            if archive.total + _SPARE > self._folder.free():
                raise InputError(
                    f"Unpacked, the bundle has {archive.total / _MB:,.0f} MB, and the disk has "
                    "no room for that. Make some, or choose another with --runs-dir."
                )
            return archive.manifest, archive.unpack(arrival.folder)

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        if self._under_way >= _AT_ONCE:
            raise TooManyError(_BUSY_FOR_S, "imports at once")
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1


async def _receive(body: AsyncIterator[bytes], arrival: Arrival, room: int | None) -> None:
    """Write a body to disk as it comes, with no more than a piece of it in memory."""
    size, waiting = 0, bytearray()
    most = LARGEST_BUNDLE if room is None else min(LARGEST_BUNDLE, max(0, room))
    file = await asyncio.to_thread(arrival.archive.open, "wb")
    try:
        async for piece in body:
            size += len(piece)
            waiting += piece
            if size > most:
                raise _too_large(size, room) if room is not None else BundleError(_LARGER)
            if len(waiting) >= _WRITE_AFTER:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(file.write, bytes(waiting))
    finally:
        await asyncio.to_thread(file.close)
    if not size:
        raise BundleError("The body is empty. Send a bundle as it is, as application/zip.")


_LARGER = f"The bundle is larger than {LARGEST_BUNDLE >> 20} MiB."


def _too_large(size: int, room: int) -> OverLimitError:
    return OverLimitError(
        f"The bundle needs {size / _MB:,.0f} MB, and you may have {max(0, room) / _MB:,.0f} MB "
        "more. Delete some runs first."
    )


def _add(
    folder: LabFolder,
    arrival: Arrival,
    manifest: Manifest,
    contents: Contents,
    owner: str | None,
) -> RunRecord:
    """Add a run to the database and to the disk, or to neither."""
    moved: RunFolder | None = None
    try:
        with in_one_step():
            run = runs.create_run(**_row(manifest, contents), owner=owner)
            events.add_past_events(run.id, [_event(entry) for entry in contents.events])
            adopt(arrival.folder, run.id, contents.config)
            moved = folder.run(run.id)
            arrival.move_in(moved)
    except BaseException:
        if moved is not None:
            moved.remove()
        raise
    return run


def _row(manifest: Manifest, contents: Contents) -> dict[str, Any]:
    run, config = manifest.run, contents.config
    # What was cut short waits for somebody here to go on with it.
    status = run.status if run.status in _KEPT_STATUSES else RunStatus.STOPPED
    counted = ("timesteps", "vec_steps", "updates", "episodes", "elapsed_s", "best", "solved_at")
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
        **{name: getattr(run, name) for name in counted},
    }


def _event(entry: EventEntry) -> dict[str, Any]:
    return {
        "timestamp": entry.timestamp,
        "event_type": entry.event_type,
        "level": entry.level,
        "message": entry.message,
        "data": entry.data,
    }


def _where_from(manifest: Manifest) -> str:
    lab = manifest.versions.get("rl-lab", "-")
    return (
        f"Imported from a bundle of {manifest.exported_at:%Y-%m-%d %H:%M} UTC: run "
        f"{manifest.run.id} of a lab with version {lab}."
    )
