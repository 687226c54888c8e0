"""Which runs train and which wait: gives every free worker a run, in the order of waiting."""

import asyncio
import logging
from functools import partial

from app.core.events import Event
from app.core.storage_thread import StorageThread, until_written
from app.core.tasks import Tasks
from app.run_config.config import RunConfig
from app.runs.execution.resume import go_on
from app.runs.execution.supervisor import Supervisor, Surroundings
from app.runs.state import endings
from app.runs.state.capacity import Capacity, CodeRefusal
from app.runs.state.endings import STOP_WITHIN_S, Ending, StopWish
from app.runs.state.feed import RunFeed
from app.runs.state.journal import Journal, RunTurns
from storage.database import runs
from storage.errors import NotWrittenError, WrongStateError
from storage.files.checkpoint_files import CheckpointFile
from storage.files.lab_folder import LabFolder
from storage.records.runs import EventLevel, RunRecord, RunStatus

_FILL_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


class TrainingQueue:
    """Owns the supervisors of all runs that have a worker."""

    def __init__(
        self,
        journal: Journal,
        folder: LabFolder,
        storage: StorageThread,
        around: Surroundings,
        capacity: Capacity,
        *,
        code_refusal: CodeRefusal,
    ) -> None:
        self.load_changed = Event[[]]()
        """A worker became busy or free, or the queue longer or shorter."""
        self._capacity = capacity
        self._code_refusal = code_refusal
        self.waiting = 0
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._around = around
        self._tasks = Tasks()
        self._supervisors: dict[str, Supervisor] = {}
        self._filling = asyncio.Lock()
        self._left_alone: set[str] = set()
        self._is_open = False
        self._fills_later = False

    @property
    def limit(self) -> int:
        """How many runs may have a worker at once."""
        return self._capacity.limit

    @property
    def active(self) -> int:
        """How many runs have a worker."""
        return len(self._supervisors)

    def supervisor(self, run_id: str) -> Supervisor | None:
        """Return who follows a run, if it has a worker."""
        return self._supervisors.get(run_id)

    async def open(self, *, goes_on: bool = True) -> None:
        """Begin to give out workers, to runs that wait already only if it goes on with them."""
        if not goes_on:
            self._left_alone = {run.id for run in await self._storage(runs.queued_runs)}
        self._is_open = True
        await self.fill()

    async def close(self) -> None:
        """Ask every run to end and deliver its model, and wait until they have."""
        async with self._filling:
            self._is_open = False
        for supervisor in self._supervisors.values():
            supervisor.stop(StopWish.SERVER)
        await self._tasks.wait(STOP_WITHIN_S + 1)
        await self._tasks.cancel()

    async def fill(self) -> None:
        """Give every free worker a run that waits, a little later if it can't be written down."""
        try:
            async with self._filling:
                queued = await self._storage(runs.queued_runs) if self._is_open else ()
                waiting = [run for run in queued if run.id not in self._left_alone]
                training = [one.owner for one in self._supervisors.values()]
                chosen = self._capacity.choose(waiting, training)
                self.waiting = len(waiting) - len(chosen)
                for run in chosen:
                    await self._begin(run)
        except NotWrittenError:
            if self._is_open and not self._fills_later:
                self._fills_later = True
                self._tasks.start(self._fill_later(), name="fill the workers later")
        self.load_changed.emit()

    async def _fill_later(self) -> None:
        await asyncio.sleep(_FILL_AGAIN_S)
        self._fills_later = False
        await self.fill()

    async def stop(self, run_id: str) -> RunRecord:
        """Ask a run to end; one that only waits ends at once."""
        # Under the lock no run is between the queue and its supervisor.
        async with self._filling:
            supervisor = self._supervisors.get(run_id)
            if supervisor is None:
                return await self._journal.move(
                    run_id, RunStatus.STOPPED, "Stopped before it began."
                )
        supervisor.stop(StopWish.PERSON)
        return await self._storage(runs.get_run, run_id)

    async def _begin(self, run: RunRecord) -> None:
        try:
            run = await self._journal.move(run.id, RunStatus.STARTING)
        except WrongStateError:
            return
        try:
            if (reason := await self._code_refusal(run)) is not None:
                await self._end(run.id, endings.failed(reason))
                return
            feed = await self._journal.feed(run.id)
            checkpoint = await self._go_on(run, feed) if run.started_at is not None else None
            supervisor = Supervisor(
                feed,
                self._folder.run(run.id),
                RunConfig.model_validate(run.config),
                self._around,
                checkpoint=checkpoint,
                listener=RunTurns(self._journal, run.id),
            )
        except OSError as error:
            await self._end(run.id, endings.no_disk(error))
            return
        except Exception as error:  # noqa: BLE001 - the queue must go on
            _log.exception("Run %s could not be started", run.id)
            await self._end(run.id, endings.failed(f"It could not be started: {error}"))
            return
        self._supervisors[run.id] = supervisor
        self._tasks.start(self._follow(run.id, supervisor), name=f"train {run.id}")

    async def _follow(self, run_id: str, supervisor: Supervisor) -> None:
        try:
            ending = await supervisor.follow()
        except Exception as error:  # noqa: BLE001 - a run always ends with a reason
            _log.exception("Run %s lost its supervisor", run_id)
            reason = f"{type(error).__name__}: {error}"
            ending = endings.failed(f"The lab could not follow the run ({reason}).")
        try:
            await self._end(run_id, ending)
        finally:
            # Not earlier: until its end is written down a run isn't free for anything else.
            self._supervisors.pop(run_id, None)
            await self.fill()

    async def _end(self, run_id: str, ending: Ending) -> None:
        what = f"The end of run {run_id}"
        try:
            await until_written(partial(self._journal.end, run_id, ending), what)
        except Exception as error:  # noqa: BLE001 - a run always ends
            _log.exception("The end of run %s could not be told as it was", run_id)
            message = f"Its numbers could not be kept ({error}). {ending.message}"
            move = partial(self._journal.move, run_id, RunStatus.FAILED, message, error=message)
            await until_written(move, what)

    async def _go_on(self, run: RunRecord, feed: RunFeed) -> CheckpointFile:
        """Take a run back to its last good checkpoint, and say what that cost."""
        there = await asyncio.to_thread(go_on, run, self._folder.run(run.id))
        kept = partial(runs.save_progress, sketch=there.run.sketch)
        save = partial(self._storage, kept, run.id, there.run.progress, None)
        await until_written(save, f"Where run {run.id} goes on")
        feed.cut_back(there.run, there.lines)
        self._around.time_machine.changed.emit(run.id)
        for name in there.broken:
            message = f"Checkpoint {name} could not be read and was left out."
            await self._journal.tell(run.id, "checkpoint_broken", message, level=EventLevel.WARNING)
        if there.unreadable:
            message = f"Lines of metrics that can't be read are left out: {there.unreadable}."
            await self._journal.tell(run.id, "metrics_broken", message, level=EventLevel.WARNING)
        if there.dropped:
            first, last = feed.line_count + 1, feed.line_count + there.dropped
            step = there.run.progress.timesteps
            message = f"Metrics after step {step:,} were dropped: lines {first} to {last}."
            data = {"first": first, "last": last}
            await self._journal.tell(run.id, "metrics_dropped", message, data=data)
        return there.checkpoint
