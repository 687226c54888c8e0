"""The training queue: assigns waiting runs to free workers, in queue order."""

import asyncio
import logging
from contextlib import suppress
from functools import partial

from app.core import StorageThread, Tasks, until_written
from app.core.events import Event
from app.run_config import config_of
from app.runs.execution import Supervisor, TrainingServices, rewind
from app.runs.state import (
    STOP_WITHIN_S,
    Capacity,
    CodeRefusal,
    Ending,
    Journal,
    RunFeed,
    RunLog,
    StopRequest,
    endings,
)
from storage import NotWrittenError, RunNotFoundError, WrongStateError
from storage.database import runs
from storage.files import CheckpointFile, LabFolder
from storage.records import EventLevel, RunRecord, RunStatus

_FILL_AGAIN_S = 1.0

_log = logging.getLogger(__name__)


class TrainingQueue:
    """Owns the supervisors of all runs that have a worker."""

    def __init__(
        self,
        journal: Journal,
        folder: LabFolder,
        storage: StorageThread,
        services: TrainingServices,
        capacity: Capacity,
        *,
        code_refusal: CodeRefusal,
    ) -> None:
        self.load_changed = Event[[]]()
        """The number of busy workers or the length of the queue changed."""
        self._capacity = capacity
        self._code_refusal = code_refusal
        self.waiting = 0
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._services = services
        self._tasks = Tasks()
        self._supervisors: dict[str, Supervisor] = {}
        self._filling = asyncio.Lock()
        self._ignored: set[str] = set()
        """Runs that were queued before, if the queue isn't resumed."""
        self._is_open = False
        self._retry_scheduled = False

    @property
    def limit(self) -> int:
        """The maximum number of runs with a worker."""
        return self._capacity.limit

    @property
    def active(self) -> int:
        """The number of runs with a worker."""
        return len(self._supervisors)

    def supervisor(self, run_id: str) -> Supervisor | None:
        """Return the supervisor of a run, if it has a worker."""
        return self._supervisors.get(run_id)

    async def open(self, *, resume: bool = True) -> None:
        """Start to assign workers; runs that wait already are ignored unless `resume`."""
        if not resume:
            self._ignored = {run.id for run in await self._storage(runs.queued_runs)}
        self._is_open = True
        await self.fill()

    async def close(self) -> None:
        """Ask every run to end and deliver its model, and wait until they have."""
        async with self._filling:
            self._is_open = False
        for supervisor in self._supervisors.values():
            supervisor.stop(StopRequest.SERVER)
        await self._tasks.wait(STOP_WITHIN_S + 1)
        await self._tasks.cancel()

    async def fill(self) -> None:
        """Assign waiting runs to free workers; retry later if the database can't be written."""
        try:
            async with self._filling:
                queued = await self._storage(runs.queued_runs) if self._is_open else ()
                waiting = [run for run in queued if run.id not in self._ignored]
                training = [one.owner for one in self._supervisors.values()]
                chosen = self._capacity.choose(waiting, training)
                self.waiting = len(waiting) - len(chosen)
                for run in chosen:
                    await self._begin(run.id)
        except NotWrittenError:
            if self._is_open and not self._retry_scheduled:
                self._retry_scheduled = True
                self._tasks.start(self._fill_later(), name="retry filling workers")
        self.load_changed.emit()

    async def _fill_later(self) -> None:
        await asyncio.sleep(_FILL_AGAIN_S)
        self._retry_scheduled = False
        await self.fill()

    async def stop(self, run_id: str) -> RunRecord:
        """Ask a run to end; a queued one ends at once."""
        # Under the lock, every run that has left the queue has a supervisor.
        async with self._filling:
            supervisor = self._supervisors.get(run_id)
            if supervisor is None:
                return await self._journal.move(
                    run_id, RunStatus.STOPPED, "Stopped before training started."
                )
        supervisor.stop(StopRequest.USER)
        return await self._storage(runs.get_run, run_id)

    async def _begin(self, run_id: str) -> None:
        try:
            run = await self._journal.move(run_id, RunStatus.STARTING)
        except WrongStateError:
            return
        try:
            if (reason := await self._code_refusal(run)) is not None:
                await self._end(run.id, endings.failed(reason))
                return
            feed = await self._journal.feed(run.id)
            checkpoint = await self._rewind(run, feed) if run.started_at is not None else None
            supervisor = Supervisor(
                feed,
                self._folder.run(run.id),
                config_of(run),
                self._services,
                RunLog(self._journal, run.id),
                checkpoint=checkpoint,
            )
        except OSError as error:
            await self._end(run.id, endings.disk_error(error))
            return
        except Exception as error:  # noqa: BLE001 - the queue must continue
            _log.exception("Run %s could not be started", run.id)
            await self._end(run.id, endings.failed(f"It could not be started: {error}"))
            return
        self._supervisors[run.id] = supervisor
        self._tasks.start(self._train(run.id, supervisor), name=f"train {run.id}")

    async def _train(self, run_id: str, supervisor: Supervisor) -> None:
        try:
            ending = await supervisor.supervise()
        except Exception as error:  # noqa: BLE001 - a run always ends with a reason
            _log.exception("Run %s lost its supervisor", run_id)
            reason = f"{type(error).__name__}: {error}"
            ending = endings.failed(f"An internal error ended the run ({reason}).")
        try:
            await self._end(run_id, ending)
        finally:
            # Not earlier: until its end is stored the run must not be started again.
            self._supervisors.pop(run_id, None)
            await self.fill()
        with suppress(RunNotFoundError):
            # It may have been deleted meanwhile.
            self._journal.run_ended.emit(await self._storage(runs.get_run, run_id))

    async def _end(self, run_id: str, ending: Ending) -> None:
        what = f"The end of run {run_id}"
        try:
            await until_written(partial(self._journal.end, run_id, ending), what)
        except Exception as error:  # noqa: BLE001 - a run always ends
            _log.exception("The end of run %s could not be stored as it was", run_id)
            message = f"Its metrics could not be stored ({error}). {ending.message}"
            move = partial(self._journal.move, run_id, RunStatus.FAILED, message, error=message)
            await until_written(move, what)

    async def _rewind(self, run: RunRecord, feed: RunFeed) -> CheckpointFile:
        """Rewind a run to its last readable checkpoint, and log what was dropped."""
        point = await asyncio.to_thread(rewind, run, self._folder.run(run.id))
        save_progress = partial(runs.save_progress, sketch=point.run.sketch)
        save = partial(self._storage, save_progress, run.id, point.run.progress, None)
        await until_written(save, f"The checkpoint that run {run.id} resumes from")
        feed.truncate(point.run, point.lines)
        self._services.time_machine.changed.emit(run.id)
        for name in point.broken:
            message = f"Checkpoint {name} could not be read and was skipped."
            await self._journal.add_event(
                run.id, "checkpoint_broken", message, level=EventLevel.WARNING
            )
        if point.unreadable:
            message = f"Unreadable lines of metrics were skipped: {point.unreadable}."
            await self._journal.add_event(
                run.id, "metrics_broken", message, level=EventLevel.WARNING
            )
        if point.dropped:
            first, last = feed.line_count + 1, feed.line_count + point.dropped
            step = point.run.progress.timesteps
            message = f"Metrics after step {step:,} were dropped: lines {first} to {last}."
            data = {"first": first, "last": last}
            await self._journal.add_event(run.id, "metrics_dropped", message, data=data)
        return point.checkpoint
