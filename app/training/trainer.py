"""Create, start, stop and delete runs; the queue; and the news about all of them."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from app.errors import InputError
from app.events import Event
from app.settings import Settings
from app.storage_thread import StorageThread
from app.tasks import Tasks
from app.training.config import RunConfig, RunRequest
from app.training.endings import StopWish
from app.training.feed import RunFeed
from app.training.going_on import go_on
from app.training.journal import Journal, RunTurns
from app.training.supervisor import Supervisor, Surroundings
from app.training.workers import WorkerPool
from storage import events, metrics, runs
from storage.errors import WrongStateError
from storage.records import (
    ENDS,
    EventLevel,
    EventRecord,
    JsonObject,
    Page,
    RunFilter,
    RunRecord,
    RunStatus,
)
from storage.run_folder import CheckpointFile, RunFolder, RunsFolder

_UNDO_WITHIN_S = 10.0
_STOP_RUNS_WITHIN_S = 10.0

_log = logging.getLogger(__name__)


class Trainer:
    """Everything that can be done with runs, for pages and the API alike."""

    def __init__(
        self, settings: Settings, folder: RunsFolder, storage: StorageThread, pool: WorkerPool
    ) -> None:
        self._journal = Journal(folder, storage)
        self.run_changed = self._journal.run_changed
        self.run_deleted = Event[str]()
        """A run was deleted, or its deletion undone."""
        self.limit = settings.workers
        self.queued = 0
        self._folder = folder
        self._storage = storage
        self._around = Surroundings(
            pool=pool,
            storage=storage,
            viewer_slots=asyncio.Semaphore(settings.viewers),
            memory_mb=settings.worker_memory,
            silence_s=settings.worker_silence,
            keep_checkpoints=settings.keep_checkpoints,
        )
        self._auto_resume = settings.auto_resume
        self._tasks = Tasks()
        self._supervisors: dict[str, Supervisor] = {}
        self._filling = asyncio.Lock()
        self._is_closing = False

    @property
    def active(self) -> int:
        """How many runs have a worker."""
        return len(self._supervisors)

    async def open(self) -> None:
        """Mark what an earlier server left behind, and go on with the queue."""
        for run in await self._storage(runs.orphaned_runs):
            message = "The server ended while the run was training."
            await self._journal.move(run.id, RunStatus.INTERRUPTED, message, error=message)
            if self._auto_resume and await self._has_checkpoint(run.id):
                await self._journal.move(run.id, RunStatus.QUEUED)
        for run_id in await self._storage(runs.hidden_runs):
            await self._erase(run_id)
        await self._fill_workers()

    async def close(self) -> None:
        """Ask every run to end and deliver its model, and wait until they have."""
        self._is_closing = True
        for supervisor in self._supervisors.values():
            supervisor.stop(StopWish.SERVER)
        waited = 0.0
        while self._supervisors and waited < _STOP_RUNS_WITHIN_S + 1:
            await asyncio.sleep(0.05)
            waited += 0.05
        await self._tasks.cancel()

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
        await self._fill_workers()
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
        self._supervisors[run_id].pause(on=True)
        return run

    async def resume(self, run_id: str) -> RunRecord:
        """Let a paused run go on, or queue an ended one to go on from its last checkpoint.

        Raises:
            WrongStateError: if there is nothing to go on with.
        """
        run = await self.get(run_id)
        if run.status is RunStatus.PAUSED:
            self._supervisors[run_id].pause(on=False)
            return run
        await self._check_can_go_on(run)
        await self._journal.move(run_id, RunStatus.QUEUED)
        await self._fill_workers()
        return await self.get(run_id)

    async def stop(self, run_id: str) -> RunRecord:
        """End a run soon and keep its model.

        Raises:
            WrongStateError: if it is over.
        """
        run = await self.get(run_id)
        if run.status.is_over:
            raise WrongStateError(run.id, run.status, "be stopped")
        if (supervisor := self._supervisors.get(run_id)) is not None:
            supervisor.stop(StopWish.PERSON)
            return run
        return await self._journal.move(run_id, RunStatus.STOPPED, "Stopped before it began.")

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
        await self._storage(runs.hide_run, run_id)
        await asyncio.to_thread(self._folder.set_aside, run_id)
        self._journal.forget(run_id)
        self.run_deleted.emit(run_id)
        self._tasks.start(self._erase_later(run_id), name=f"erase {run_id}")

    async def restore(self, run_id: str) -> RunRecord:
        """Bring a deleted run back.

        Raises:
            RunNotFoundError: if the ten seconds are over.
        """
        run = await self._storage(runs.restore_run, run_id)
        await asyncio.to_thread(self._folder.take_back, run_id)
        return self._journal.announce(run)

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
        return feed.run if feed is not None and run.id in self._supervisors else run

    async def _fill_workers(self) -> None:
        """Give every free worker a run from the queue."""
        async with self._filling:
            waiting = () if self._is_closing else await self._storage(runs.queued_runs)
            free = max(0, self.limit - self.active)
            for run in waiting[:free]:
                await self._begin(run.id)
            self.queued = max(0, len(waiting) - free)

    async def _begin(self, run_id: str) -> None:
        run = await self._journal.move(run_id, RunStatus.STARTING)
        feed = await self.feed(run_id)
        checkpoint = await self._go_on(run, feed) if run.started_at is not None else None
        supervisor = self._supervisors[run_id] = Supervisor(
            feed,
            self.folder(run_id),
            RunConfig.model_validate(run.config),
            self._around,
            checkpoint=checkpoint,
            listener=RunTurns(self._journal, run_id),
        )
        self._tasks.start(self._follow(feed, supervisor), name=f"train {run_id}")

    async def _follow(self, feed: RunFeed, supervisor: Supervisor) -> None:
        run_id = feed.run.id
        ending = await supervisor.follow()
        await self._journal.move(run_id, ending.status, ending.message, error=ending.error)
        self._supervisors.pop(run_id, None)
        await self._fill_workers()

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

    async def _go_on(self, run: RunRecord, feed: RunFeed) -> CheckpointFile | None:
        """Take a run back to its last good checkpoint, and say what that cost."""
        there = await asyncio.to_thread(go_on, run, self.folder(run.id))
        await self._storage(runs.save_progress, run.id, there.run.progress, None)
        feed.cut_back(there.run, there.lines)
        for name in there.broken:
            message = f"Checkpoint {name} could not be read and was left out."
            await self._journal.tell(run.id, "checkpoint_broken", message, level=EventLevel.WARNING)
        if there.dropped:
            first = feed.line_count + 1
            message = (
                f"Metrics after step {there.run.progress.timesteps:,} were dropped: "
                f"lines {first} to {feed.line_count + there.dropped}."
            )
            data = {"first": first, "last": feed.line_count + there.dropped}
            await self._journal.tell(run.id, "metrics_dropped", message, data=data)
        return there.checkpoint

    async def _erase_later(self, run_id: str) -> None:
        await asyncio.sleep(_UNDO_WITHIN_S)
        if run_id in await self._storage(runs.hidden_runs):
            await self._erase(run_id)

    async def _erase(self, run_id: str) -> None:
        await self._storage(runs.erase_run, run_id)
        await asyncio.to_thread(self._folder.empty_trash, run_id)


def _describe(config: RunConfig) -> str:
    return (
        f"{config.algorithm} on {config.env_id}: {config.total_timesteps:,} steps, "
        f"{config.n_envs} parallel environments, seed {config.seed}."
    )
