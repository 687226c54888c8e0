"""Create, start, stop and delete runs; the queue; and the news about all of them."""

import asyncio
import logging
import weakref
from collections.abc import Sequence
from typing import Any

from app.errors import InputError
from app.events import Event
from app.settings import Settings
from app.storage_thread import StorageThread
from app.tasks import Tasks
from app.training.config import RunConfig, RunRequest
from app.training.endings import StopWish
from app.training.feed import RECENT_EVENTS, RECENT_LINES, RunFeed
from app.training.supervisor import Supervisor, Surroundings
from app.training.workers import WorkerPool
from app.worker import messages
from storage import events, metrics, runs
from storage.errors import WrongStateError
from storage.records import (
    EventLevel,
    EventRecord,
    JsonObject,
    Page,
    RunFilter,
    RunRecord,
    RunStatus,
)
from storage.run_folder import RunFolder, RunsFolder

_UNDO_WITHIN_S = 10.0
_LOUD = {RunStatus.FAILED: EventLevel.ERROR, RunStatus.INTERRUPTED: EventLevel.WARNING}
_STOP_RUNS_WITHIN_S = 10.0

_log = logging.getLogger(__name__)


class Trainer:
    """Everything that can be done with runs, for pages and the API alike."""

    def __init__(
        self, settings: Settings, folder: RunsFolder, storage: StorageThread, pool: WorkerPool
    ) -> None:
        self.run_changed = Event[RunRecord]()
        """A run was created, renamed, or moved to another status."""
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
        )
        self._tasks = Tasks()
        self._supervisors: dict[str, Supervisor] = {}
        self._filling = asyncio.Lock()
        self._is_closing = False
        # A feed lives as long as its run trains or somebody looks at it.
        self._feeds: weakref.WeakValueDictionary[str, RunFeed] = weakref.WeakValueDictionary()

    @property
    def active(self) -> int:
        """How many runs have a worker."""
        return len(self._supervisors)

    async def open(self) -> None:
        """Mark what an earlier server left behind, and go on with the queue."""
        for run in await self._storage(runs.orphaned_runs):
            message = "The server ended while the run was training."
            await self._move(run.id, RunStatus.INTERRUPTED, message, error=message)
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
        await self._tell(run.id, "created", _describe(config))
        if request.env_id != config.env_id:
            await self._tell(
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
        await self._move(run_id, RunStatus.QUEUED, wish="be started")
        await self._fill_workers()
        run = await self.get(run_id)
        if run.status is RunStatus.QUEUED:
            await self._tell(run_id, "queued", "Waiting for a free worker.")
        return run

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
        return await self._move(run_id, RunStatus.STOPPED, "Stopped before it began.")

    async def change(self, run_id: str, **values: Any) -> RunRecord:
        """Change a run's name, notes, tags_json or archived."""
        run = await self._storage(runs.change_run, run_id, **values)
        return self._announce(run)

    async def delete(self, run_id: str) -> None:
        """Take a run and its files away; for ten seconds `restore` brings them back.

        Raises:
            WrongStateError: while it is active.
        """
        await self._storage(runs.hide_run, run_id)
        await asyncio.to_thread(self._folder.set_aside, run_id)
        self._feeds.pop(run_id, None)
        self.run_deleted.emit(run_id)
        self._tasks.start(self._erase_later(run_id), name=f"erase {run_id}")

    async def restore(self, run_id: str) -> RunRecord:
        """Bring a deleted run back.

        Raises:
            RunNotFoundError: if the ten seconds are over.
        """
        run = await self._storage(runs.restore_run, run_id)
        await asyncio.to_thread(self._folder.take_back, run_id)
        return self._announce(run)

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
        run = await self._storage(runs.get_run, run_id)
        if (known := self._feeds.get(run_id)) is not None:
            return known
        lines = await asyncio.to_thread(
            metrics.tail_lines, self.folder(run_id).metrics, RECENT_LINES
        )
        log = await self._storage(events.list_events, run_id, limit=RECENT_EVENTS)
        frame = await asyncio.to_thread(_last_frame, self.folder(run_id))
        has_model = await asyncio.to_thread(self.folder(run_id).model.is_file)
        # Somebody else may have made it while this one was reading.
        if (known := self._feeds.get(run_id)) is not None:
            return known
        feed = self._feeds[run_id] = RunFeed(run, lines, log)
        feed.has_model = has_model
        if frame is not None:
            feed.frames.publish(*frame)
        return feed

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
        feed = self._feeds.get(run.id)
        return feed.run if feed is not None and run.id in self._supervisors else run

    def _announce(self, run: RunRecord) -> RunRecord:
        if (feed := self._feeds.get(run.id)) is not None:
            feed.set_run(run)
        self.run_changed.emit(run)
        return run

    async def _fill_workers(self) -> None:
        """Give every free worker a run from the queue."""
        async with self._filling:
            waiting = () if self._is_closing else await self._storage(runs.queued_runs)
            free = max(0, self.limit - self.active)
            for run in waiting[:free]:
                await self._begin(run.id)
            self.queued = max(0, len(waiting) - free)

    async def _begin(self, run_id: str) -> None:
        run = await self._move(run_id, RunStatus.STARTING)
        feed = await self.feed(run_id)
        supervisor = self._supervisors[run_id] = Supervisor(
            feed,
            self.folder(run_id),
            RunConfig.model_validate(run.config),
            self._around,
            on_started=lambda: self._started(run_id),
            on_solved=lambda step, mean: self._solved(run_id, step, mean),
        )
        self._tasks.start(self._follow(feed, supervisor), name=f"train {run_id}")

    async def _follow(self, feed: RunFeed, supervisor: Supervisor) -> None:
        run_id = feed.run.id
        ending = await supervisor.follow()
        await self._move(run_id, ending.status, ending.message, error=ending.error)
        self._supervisors.pop(run_id, None)
        await self._fill_workers()

    async def _started(self, run_id: str) -> None:
        await self._move(run_id, RunStatus.RUNNING, "Training started.")

    async def _solved(self, run_id: str, step: int, mean: float) -> None:
        message = f"Solved: mean reward {mean:,.1f} over 100 episodes at {step:,} steps."
        await self._tell(run_id, "solved", message, data={"timesteps": step, "mean_reward": mean})

    async def _move(
        self,
        run_id: str,
        status: RunStatus,
        message: str | None = None,
        *,
        wish: str = "",
        error: str | None = None,
    ) -> RunRecord:
        run = await self._storage(runs.move_run, run_id, status, wish=wish, error=error)
        _log.info("Run %s is %s", run_id, status)
        if message is not None:
            level = _LOUD.get(status, EventLevel.INFO)
            await self._tell(run_id, status.value, message, level=level)
        return self._announce(run)

    async def _tell(self, run_id: str, event_type: str, message: str, **more: Any) -> None:
        event = await self._storage(events.add_event, run_id, event_type, message, **more)
        if (feed := self._feeds.get(run_id)) is not None:
            feed.add_event(event)

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


def _last_frame(folder: RunFolder) -> tuple[messages.FrameHeader, bytes] | None:
    try:
        header = messages.decode_header(folder.last_frame_header.read_bytes())
        return header, folder.last_frame.read_bytes()
    except (OSError, ValueError):
        return None
