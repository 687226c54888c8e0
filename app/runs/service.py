"""Create, start, stop and delete runs; the queue; and the news about all of them."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import msgspec

from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.environments.spec import EnvSpec
from app.core.errors import InputError
from app.core.events import Event
from app.core.settings import Settings
from app.core.storage_thread import StorageThread, until_written
from app.discovery.environment_finder import EnvironmentFinder
from app.protocol import messages
from app.run_config.config import RunRequest
from app.run_config.live_changes import read_change
from app.run_config.seeds import MAX_SEEDS, one_request_per_seed
from app.runs.creation import Creation
from app.runs.execution.policy_snapshots import keep_fork
from app.runs.execution.supervisor import Surroundings
from app.runs.execution.time_machine import TimeMachine
from app.runs.groups import GROUP_METRICS, GroupPoint, group_curve
from app.runs.history import History
from app.runs.queue import TrainingQueue
from app.runs.state.capacity import Admission, Capacity
from app.runs.state.endings import goes_on_from
from app.runs.state.feed import RunFeed
from app.runs.state.journal import Journal
from app.runs.trash import Trash
from app.workers.errors import WorkerGoneError
from app.workers.local_worker import HandedOut
from app.workers.pool import WorkerPool
from app.workers.video import Filmed
from storage.database import events, runs
from storage.database.lineage import family
from storage.errors import (
    GroupNotFoundError,
    NotWrittenError,
    WrongStateError,
)
from storage.files.fork_files import ForkFiles
from storage.files.lab_folder import LabFolder
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.metrics.curves import CurveShelf
from storage.records.curves import Curves, View
from storage.records.runs import ENDS, EventRecord, Page, RunFilter, RunRecord, RunStatus

_DISK_THREADS = 4
_READERS = 2
_CHANGED_WITHIN_S = 5.0

_log = logging.getLogger(__name__)


class RunService:
    """Everything that can be done with runs, for pages and the API alike."""

    def __init__(
        self,
        settings: Settings,
        folder: LabFolder,
        storage: StorageThread,
        pool: WorkerPool,
        journal: Journal,
        environments: EnvironmentFinder,
        admission: Admission,
    ) -> None:
        self._journal = journal
        self.history = History(folder, storage, fresh=self._fresh)
        self.environments = environments
        self.code_refusal = admission.code_refusal
        self._creation = Creation(self._journal, folder, storage, environments)
        self.run_changed = self._journal.run_changed
        self.run_deleted = Event[str]()
        """A run was deleted."""
        self._folder = folder
        self._storage = storage
        self._reading = asyncio.Semaphore(_READERS)
        self._shelf = CurveShelf()
        self._trash = Trash(folder, storage)
        self._auto_resume = settings.auto_resume
        self.side_slots = pool.side_slots
        """Places for workers beside training: whoever shows, judges or tries something out."""
        self.time_machine = TimeMachine(
            self._journal, folder, storage, pool, self.code_refusal, kept=settings.clips
        )
        around = Surroundings(
            pool=pool,
            storage=storage,
            disk=StorageThread(_DISK_THREADS),
            viewer_slots=self.side_slots,
            silence_s=settings.worker_silence,
            keep_checkpoints=settings.keep_checkpoints,
            time_machine=self.time_machine,
        )
        self._queue = TrainingQueue(
            self._journal,
            folder,
            storage,
            around,
            Capacity(settings.workers, admission.limit),
            code_refusal=admission.code_refusal,
        )
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

    async def open(self, *, goes_on: bool = True) -> None:
        """Mark what an earlier server left behind, and go on with its queue, or leave that be."""
        for run in await self._storage(runs.orphaned_runs):
            await asyncio.to_thread(self._folder.run(run.id).remove_unfinished)
            step = await self._last_good_step(run.id)
            message = f"The server ended while the run was training.{goes_on_from(step)}"
            move = partial(self._journal.move, run.id, RunStatus.INTERRUPTED, message)
            await until_written(partial(move, error=message), f"The end of run {run.id}")
        if self._auto_resume and goes_on:
            for run in await self._storage(runs.interrupted_runs):
                if await self._last_good_step(run.id) is not None:
                    move = partial(self._journal.move, run.id, RunStatus.QUEUED)
                    await until_written(move, f"That run {run.id} goes on")
        await self._trash.empty()
        if goes_on:
            await self.time_machine.open()
        await self._queue.open(goes_on=goes_on)

    async def close(self) -> None:
        """Ask every run to end and deliver its model, and wait until they have."""
        await self._queue.close()
        await self.time_machine.close()
        await self._trash.close()

    async def fill(self) -> None:
        """Give free workers to runs that may have them now, after limits were changed."""
        await self._queue.fill()

    async def create(
        self, request: RunRequest, *, owner: str | None = None, policy: bytes | None = None
    ) -> RunRecord:
        """Make a run; it waits until it is started. `policy` is what `init_from` has right now.

        Raises:
            InputError: if something in the request can't be used. Nothing is left behind.
        """
        if request.seeds is not None:
            raise InputError("seeds makes a group of runs. Use seed for one.", field="seeds")
        run = await self._creation.make(request, owner=owner, policy=policy)
        return await self.start(run.id) if request.start else run

    async def create_group(
        self, request: RunRequest, *, owner: str | None = None
    ) -> list[RunRecord]:
        """Make one run for each seed; they share everything else.

        Raises:
            InputError: if something in the request can't be used. Nothing is left behind.
        """
        group_id = uuid4().hex
        made: list[RunRecord] = []
        try:
            for single in one_request_per_seed(request):
                made.append(await self._creation.make(single, group_id=group_id, owner=owner))
        except BaseException:
            for run in made:
                with suppress(NotWrittenError):
                    await self.delete(run.id)
            raise
        return [await self.start(run.id) for run in made] if request.start else made

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
        """Change a run's name, notes, tags_json, archived, visibility or shared_json."""
        run = await self._storage(runs.change_run, run_id, **values)
        return self._journal.announce(run)

    async def adjust(self, run_id: str, wishes: Mapping[str, Any]) -> RunRecord:
        """Change learning_rate, ent_coef, clip_range or total_timesteps of a run that trains.

        A run that doesn't train can get another total_timesteps; `resume` then uses it.

        Raises:
            InputError: if a value can't be used.
            WrongStateError: if the run doesn't train and more than the budget is asked for.
        """
        run = await self.get(run_id)
        change = read_change(get_algorithm(run.algorithm), wishes)
        _check_budget(run, change)
        supervisor = self._queue.supervisor(run_id)
        if supervisor is None:
            return await self._extend(run, change, wishes)
        await keep_fork(supervisor, ForkFiles(self.folder(run_id).forks_path))
        try:
            async with asyncio.timeout(_CHANGED_WITHIN_S):
                await supervisor.change(change)
        except TimeoutError:
            _log.warning("Run %s takes long to change; its log will tell when it has", run_id)
        except WorkerGoneError:
            # It is just ending; the budget alone can be changed even so.
            return await self._extend(run, change, wishes)
        return await self.get(run_id)

    async def _extend(
        self, run: RunRecord, change: messages.Change, wishes: Mapping[str, Any]
    ) -> RunRecord:
        if change.total_timesteps is None or len(wishes) > 1:
            raise WrongStateError(
                run.id, run.status, "be changed but for total_timesteps: it isn't training"
            )
        budget = {"total_timesteps": change.total_timesteps}
        changed = await self._storage(runs.merge_config, run.id, budget)
        message = f"The budget is now {change.total_timesteps:,} steps."
        await self._journal.tell(run.id, "budget_changed", message)
        return await self._journal.save_config(changed)

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

    async def find(self, beginning: str) -> RunRecord:
        """Return the run whose id begins so, or the newest one."""
        return self._fresh(await self._storage(runs.find_run, beginning))

    async def list(self, wanted: RunFilter, **order: Any) -> Page[RunRecord]:
        """Return a page of runs with their newest numbers."""
        page = await self._storage(runs.list_runs, wanted, **order)
        return Page(tuple(self._fresh(run) for run in page.items), page.next)

    async def group(self, group_id: str) -> Sequence[RunRecord]:
        """Return the runs of a seed group, in the order of their making.

        Raises:
            GroupNotFoundError: if there is none of this id.
        """
        wanted = RunFilter(group_id=group_id, archived=None)
        found = await self.list(wanted, sort="created_at", limit=MAX_SEEDS)
        if not found.items:
            raise GroupNotFoundError(group_id)
        return found.items

    async def group_curve(self, members: Sequence[RunRecord]) -> Sequence[GroupPoint]:
        """Return how the runs of a group went, taken together."""

        def read() -> Sequence[GroupPoint]:
            files = [self.folder(run.id).metrics for run in members]
            return group_curve([metrics.read_columns(file, GROUP_METRICS) for file in files])

        async with self._reading:
            return await asyncio.to_thread(read)

    async def family(self, run_id: str) -> Sequence[RunRecord]:
        """Return a run with all it came of and all that came of those."""
        return [self._fresh(run) for run in await self._storage(family, run_id)]

    async def newest_policy(self, run_id: str) -> HandedOut | None:
        """Return the policy of a run as its worker has it now; None if it has no worker.

        Raises:
            WorkerGoneError: if it ends first.
        """
        supervisor = self._queue.supervisor(run_id)
        return None if supervisor is None else await supervisor.newest_policy()

    async def film(self, run_id: str) -> Filmed:
        """Return a film of the next whole episode of a run's live view.

        Raises:
            WorkerGoneError: if it has no worker, or ends first.
        """
        supervisor = self._queue.supervisor(run_id)
        if supervisor is None:
            raise WorkerGoneError
        return await supervisor.film()

    async def tell(self, run_id: str, event_type: str, message: str, **more: Any) -> None:
        """Add to a run's log, as soon as that is possible."""
        await self._journal.tell(run_id, event_type, message, **more)

    async def announce_import(self, run: RunRecord, message: str) -> RunRecord:
        """Show a run that came from elsewhere, and say so in its log."""
        await self._journal.tell(run.id, "imported", message)
        return self._journal.announce(run)

    async def newest(self, wanted: RunFilter) -> RunRecord | None:
        """Return the run that a visitor wants to see first, if there is any."""
        run = await self._storage(runs.newest_run, wanted)
        return None if run is None else self._fresh(run)

    async def best(self, spec: EnvSpec, wanted: RunFilter) -> RunRecord | None:
        """Return the run that scored best in an environment as it is by default."""
        wanted = replace(wanted, env_id=spec.id, archived=None)
        usual = spec.check_kwargs({})
        for run in await self._storage(runs.best_runs, wanted):
            if run.config.get("env_kwargs", {}) == usual:
                return run
        return None

    async def solved(self, wanted: RunFilter) -> frozenset[str]:
        """Return the environments that at least one of these runs has solved."""
        return await self._storage(runs.solved_environments, wanted)

    async def feed(self, run_id: str) -> RunFeed:
        """Return what a run looks like right now, and news about it.

        Raises:
            RunNotFoundError: if there is none of this id.
        """
        return await self._journal.feed(run_id)

    async def events(self, run_id: str, **bounds: Any) -> tuple[EventRecord, ...]:
        """Return a run's event log, newest first; see `storage.database.events.list_events`."""
        await self._storage(runs.get_run, run_id)
        return await self._storage(events.list_events, run_id, **bounds)

    async def read_on(self, reader: metrics.LineReader, limit: int) -> Sequence[msgspec.Raw]:
        """Read on in a run's metrics, for one of many listeners."""
        # Few at a time: a hundred listeners must not keep the processor from those who write.
        async with self._reading:
            return await asyncio.to_thread(reader.read, limit)

    async def events_after(self, run_id: str, after: int) -> tuple[EventRecord, ...]:
        """Return the next part of a run's event log, oldest first."""
        return await self._storage(events.events_after, run_id, after, limit=500)

    async def curves(self, run_id: str, view: View) -> Curves:
        """Return how some metrics of a run went, as closely as a view wants it."""
        async with self._reading:
            return await asyncio.to_thread(self._shelf.look, self.folder(run_id).metrics, view)

    async def place_in_queue(self, run_id: str) -> int | None:
        """Return how many runs are before one, itself included; None if it doesn't wait."""
        waiting = [run.id for run in await self._storage(runs.queued_runs)]
        return waiting.index(run_id) + 1 if run_id in waiting else None

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
        if self._queue.supervisor(run.id) is not None:
            raise NotWrittenError("how the run ended is not written down yet")
        if run.started_at is not None and await self._last_good_step(run.id) is None:
            raise WrongStateError(run.id, run.status, "be resumed: it has no checkpoint")

    async def _last_good_step(self, run_id: str) -> int | None:
        """Return the step of the checkpoint from which a run would go on."""

        def look() -> int | None:
            found = self.folder(run_id).checkpoints
            return max((file.timesteps for file in found if file.is_good()), default=None)

        return await asyncio.to_thread(look)


def _check_budget(run: RunRecord, change: messages.Change) -> None:
    """Refuse a budget that is used up: a typing error would end the run."""
    done = run.progress.timesteps
    if change.total_timesteps is not None and change.total_timesteps < done:
        raise InputError(
            f"total_timesteps must be at least the {done:,} steps already done, "
            f"got {change.total_timesteps:,}. Stop the run to end it.",
            field="total_timesteps",
        )
