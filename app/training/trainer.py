"""Create, start, stop and delete runs; the queue; and the news about all of them."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from app.errors import InputError
from app.events import Event
from app.settings import Settings
from app.storage_thread import StorageThread
from app.training.config import RunConfig, RunRequest
from app.training.feed import RunFeed
from app.training.journal import Journal
from app.training.queue import TrainingQueue
from app.training.supervisor import Surroundings
from app.training.trash import Trash
from app.training.workers import WorkerPool
from storage import events, metrics, runs
from storage.errors import WrongStateError
from storage.records import (
    ENDS,
    EventRecord,
    JsonObject,
    Page,
    RunFilter,
    RunRecord,
    RunStatus,
)
from storage.run_folder import RunFolder, RunsFolder

_DISK_THREADS = 4
_READERS = 2

_log = logging.getLogger(__name__)


class Trainer:
    """Everything that can be done with runs, for pages and the API alike."""

    def __init__(
        self, settings: Settings, folder: RunsFolder, storage: StorageThread, pool: WorkerPool
    ) -> None:
        self._journal = Journal(folder, storage)
        self.run_changed = self._journal.run_changed
        self.run_deleted = Event[str]()
        """A run was deleted."""
        self._folder = folder
        self._storage = storage
        self._reading = asyncio.Semaphore(_READERS)
        self._trash = Trash(folder, storage)
        self._auto_resume = settings.auto_resume
        around = Surroundings(
            pool=pool,
            storage=storage,
            disk=StorageThread(_DISK_THREADS),
            viewer_slots=asyncio.Semaphore(settings.viewers),
            memory_mb=settings.worker_memory,
            silence_s=settings.worker_silence,
            keep_checkpoints=settings.keep_checkpoints,
        )
        self._queue = TrainingQueue(self._journal, folder, storage, around, limit=settings.workers)
        self.load_changed = self._queue.load_changed

    @property
    def limit(self) -> int:
        """How many runs may train at once."""
        return self._queue.limit

    @property
    def queued(self) -> int:
        """How many runs wait for a worker."""
        return self._queue.waiting

    @property
    def active(self) -> int:
        """How many runs have a worker."""
        return self._queue.active

    async def open(self) -> None:
        """Mark what an earlier server left behind, and go on with the queue."""
        for run in await self._storage(runs.orphaned_runs):
            message = "The server ended while the run was training."
            await self._journal.move(run.id, RunStatus.INTERRUPTED, message, error=message)
        if self._auto_resume:
            for run in await self._storage(runs.interrupted_runs):
                if await self._has_checkpoint(run.id):
                    await self._journal.move(run.id, RunStatus.QUEUED)
        await self._trash.empty()
        await self._queue.open()

    async def close(self) -> None:
        """Ask every run to end and deliver its model, and wait until they have."""
        await self._queue.close()
        await self._trash.close()

    async def create(self, request: RunRequest) -> RunRecord:
        """Make a run; it waits until it is started.

        Raises:
            InputError: if something in the request can't be used. Nothing is left behind.
        """
        config = RunConfig.from_request(request)
        run = await self._storage(
            runs.create_run,
            name=(request.name or "").strip() or f"{config.algorithm} on {config.env_id}",
            env_id=config.env_id,
            algorithm=config.algorithm,
            config=config.model_dump(),
            tags=request.tags,
        )
        try:
            await asyncio.to_thread(self._folder.run(run.id).create, run.config)
        except OSError as error:
            await self._storage(runs.hide_run, run.id)
            await self._storage(runs.erase_run, run.id)
            reason = error.strerror or type(error).__name__
            raise InputError(f"The runs folder can't be written: {reason}.") from error
        _log.info("Run %s created", run.id)
        await self._journal.tell(run.id, "created", _describe(config))
        if request.env_id != config.env_id:
            await self._journal.tell(
                run.id,
                "environment_mapped",
                f"{request.env_id} no longer exists; the run uses {config.env_id}.",
            )
        self.run_changed.emit(run)
        return await self.start(run.id) if request.start else run

    async def start(self, run_id: str) -> RunRecord:
        """Put a run into the queue; it trains as soon as a worker is free.

        Raises:
            WrongStateError: if it was started before.
        """
        run = await self.get(run_id)
        if run.status is not RunStatus.CREATED:
            raise WrongStateError(run.id, run.status, "be started. Resume it if it has ended")
        await self._journal.move(run_id, RunStatus.QUEUED)
        await self._queue.fill()
        run = await self.get(run_id)
        if run.status is RunStatus.QUEUED:
            await self._journal.tell(run_id, "queued", "Waiting for a free worker.")
        return run

    async def pause(self, run_id: str) -> RunRecord:
        """Let a run wait, with everything it has; its status tells when it does.

        Raises:
            WrongStateError: if it isn't running.
        """
        run = await self.get(run_id)
        if run.status is not RunStatus.RUNNING:
            raise WrongStateError(run.id, run.status, "be paused")
        return self._pause(run, on=True)

    async def resume(self, run_id: str) -> RunRecord:
        """Let a paused run go on, or queue an ended one to go on from its last checkpoint.

        Raises:
            WrongStateError: if there is nothing to go on with.
        """
        run = await self.get(run_id)
        if run.status is RunStatus.PAUSED:
            return self._pause(run, on=False)
        await self._check_can_go_on(run)
        await self._journal.move(run_id, RunStatus.QUEUED)
        await self._queue.fill()
        return await self.get(run_id)

    def _pause(self, run: RunRecord, *, on: bool) -> RunRecord:
        supervisor = self._queue.supervisor(run.id)
        if supervisor is None:
            # It ended a moment ago; the database is about to hear of it.
            raise WrongStateError(run.id, run.status, "be paused or resumed: it just ended")
        supervisor.pause(on=on)
        return run

    async def stop(self, run_id: str) -> RunRecord:
        """End a run soon and keep its model.

        Raises:
            WrongStateError: if it is over.
        """
        run = await self.get(run_id)
        if run.status.is_over:
            raise WrongStateError(run.id, run.status, "be stopped")
        await self._queue.stop(run_id)
        await self._queue.fill()
        return await self.get(run_id)

    async def change(self, run_id: str, **values: Any) -> RunRecord:
        """Change a run's name, notes, tags_json or archived."""
        run = await self._storage(runs.change_run, run_id, **values)
        return self._journal.announce(run)

    async def extend(self, run_id: str, total_timesteps: int) -> RunRecord:
        """Give a run that doesn't train another budget; `resume` then uses it.

        Raises:
            WrongStateError: while it has a worker.
        """
        run = await self.get(run_id)
        if run.status.has_worker:
            raise WrongStateError(run.id, run.status, "get another budget. Stop it first")
        config = {**run.config, "total_timesteps": total_timesteps}
        await asyncio.to_thread(self.folder(run_id).save_config, config)
        message = f"The budget is now {total_timesteps:,} steps."
        await self._journal.tell(run_id, "budget_changed", message)
        return await self.change(run_id, config_json=config)

    async def delete(self, run_id: str) -> None:
        """Take a run and its files away; for ten seconds `restore` brings them back.

        Raises:
            WrongStateError: while it is active.
        """
        await self._trash.put(run_id)
        self._journal.forget(run_id)
        self.run_deleted.emit(run_id)

    async def restore(self, run_id: str) -> RunRecord:
        """Bring a deleted run back.

        Raises:
            RunNotFoundError: if the ten seconds are over.
        """
        return self._journal.announce(await self._trash.take_back(run_id))

    async def get(self, run_id: str) -> RunRecord:
        """Return a run with its newest numbers.

        Raises:
            RunNotFoundError: if there is none of this id.
        """
        run = await self._storage(runs.get_run, run_id)
        return self._fresh(run)

    async def list(self, wanted: RunFilter, **order: Any) -> Page[RunRecord]:
        """Return a page of runs with their newest numbers; see `storage.runs.list_runs`."""
        page = await self._storage(runs.list_runs, wanted, **order)
        return Page(tuple(self._fresh(run) for run in page.items), page.next)

    async def newest(self) -> RunRecord | None:
        """Return the run that a visitor wants to see first, if there is any."""
        run = await self._storage(runs.newest_run)
        return None if run is None else self._fresh(run)

    async def feed(self, run_id: str) -> RunFeed:
        """Return what a run looks like right now, and news about it.

        Raises:
            RunNotFoundError: if there is none of this id.
        """
        return await self._journal.feed(run_id)

    async def events(self, run_id: str, **bounds: Any) -> tuple[EventRecord, ...]:
        """Return a run's event log, newest first; see `storage.events.list_events`."""
        await self._storage(runs.get_run, run_id)
        return await self._storage(events.list_events, run_id, **bounds)

    async def read_on(self, reader: metrics.LineReader, limit: int) -> Sequence[JsonObject]:
        """Read on in a run's metrics, for one of many listeners."""
        # Few at a time: a hundred listeners must not keep the processor from those who write.
        async with self._reading:
            return await asyncio.to_thread(reader.read, limit)

    async def events_after(self, run_id: str, after: int) -> tuple[EventRecord, ...]:
        """Return the next part of a run's event log, oldest first."""
        return await self._storage(events.events_after, run_id, after, limit=500)

    async def shape(
        self, run_id: str, names: Sequence[str], max_points: int
    ) -> Sequence[JsonObject]:
        """Return how some metrics of a run went, in at most so many points each."""

        def read() -> Sequence[JsonObject]:
            lines = metrics.read_lines(self.folder(run_id).metrics)
            return metrics.downsample(lines, max_points=max_points, names=names)

        return await asyncio.to_thread(read)

    def folder(self, run_id: str) -> RunFolder:
        """Return the files of a run whose id came from the database."""
        return self._folder.run(run_id)

    def _fresh(self, run: RunRecord) -> RunRecord:
        feed = self._journal.live(run.id)
        return feed.run if feed is not None and self._queue.supervisor(run.id) is not None else run

    async def _check_can_go_on(self, run: RunRecord) -> None:
        if run.status not in ENDS:
            raise WrongStateError(run.id, run.status, "be resumed")
        if run.status is RunStatus.COMPLETED and run.progress.timesteps >= run.total_timesteps:
            wish = "be resumed. Give it a larger total_timesteps first"
            raise WrongStateError(run.id, run.status, wish)
        if run.started_at is not None and not await self._has_checkpoint(run.id):
            raise WrongStateError(run.id, run.status, "be resumed: it has no checkpoint")

    async def _has_checkpoint(self, run_id: str) -> bool:
        return bool(await asyncio.to_thread(lambda: self.folder(run_id).checkpoints))


def _describe(config: RunConfig) -> str:
    return (
        f"{config.algorithm} on {config.env_id}: {config.total_timesteps:,} steps, "
        f"{config.n_envs} parallel environments, seed {config.seed}."
    )
