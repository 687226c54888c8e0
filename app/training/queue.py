"""Which runs train and which wait: gives every free worker a run, in the order of waiting."""

import asyncio
import logging

from app.events import Event
from app.storage_thread import StorageThread
from app.tasks import Tasks
from app.training import endings
from app.training.config import RunConfig
from app.training.endings import STOP_WITHIN_S, StopWish
from app.training.feed import RunFeed
from app.training.going_on import go_on
from app.training.journal import Journal, RunTurns
from app.training.supervisor import Supervisor, Surroundings
from storage import runs
from storage.errors import WrongStateError
from storage.records import EventLevel, RunRecord, RunStatus
from storage.run_folder import CheckpointFile, RunsFolder

_log = logging.getLogger(__name__)


class TrainingQueue:
    """Owns the supervisors of all runs that have a worker."""

    def __init__(
        self,
        journal: Journal,
        folder: RunsFolder,
        storage: StorageThread,
        around: Surroundings,
        *,
        limit: int,
    ) -> None:
        self.load_changed = Event[[]]()
        """A worker became busy or free, or the queue longer or shorter."""
        self.limit = limit
        self.waiting = 0
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._around = around
        self._tasks = Tasks()
        self._supervisors: dict[str, Supervisor] = {}
        self._filling = asyncio.Lock()
        self._is_open = False

    @property
    def active(self) -> int:
        """How many runs have a worker."""
        return len(self._supervisors)

    def supervisor(self, run_id: str) -> Supervisor | None:
        """Return who follows a run, if it has a worker."""
        return self._supervisors.get(run_id)

    async def open(self) -> None:
        """Begin to give out workers."""
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
        """Give every free worker a run that waits."""
        async with self._filling:
            waiting = await self._storage(runs.queued_runs) if self._is_open else ()
            free = max(0, self.limit - self.active)
            for run in waiting[:free]:
                await self._begin(run)
            self.waiting = max(0, len(waiting) - free)
        self.load_changed.emit()

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
            feed = await self._journal.feed(run.id)
            checkpoint = await self._go_on(run, feed) if run.started_at is not None else None
        except WrongStateError:
            return
        except Exception as error:  # noqa: BLE001 - the queue must go on
            _log.exception("Run %s could not be started", run.id)
            message = f"It could not be started: {error}."
            await self._journal.move(run.id, RunStatus.FAILED, message, error=message)
            return
        supervisor = self._supervisors[run.id] = Supervisor(
            feed,
            self._folder.run(run.id),
            RunConfig.model_validate(run.config),
            self._around,
            checkpoint=checkpoint,
            listener=RunTurns(self._journal, run.id),
        )
        self._tasks.start(self._follow(run.id, supervisor), name=f"train {run.id}")

    async def _follow(self, run_id: str, supervisor: Supervisor) -> None:
        try:
            ending = await supervisor.follow()
        except Exception as error:  # noqa: BLE001 - a run always ends with a reason
            _log.exception("Run %s lost its supervisor", run_id)
            reason = f"{type(error).__name__}: {error}"
            ending = endings.failed(f"The lab could not follow the run ({reason}).")
        self._supervisors.pop(run_id, None)
        try:
            await self._journal.move(run_id, ending.status, ending.message, error=ending.error)
        finally:
            await self.fill()

    async def _go_on(self, run: RunRecord, feed: RunFeed) -> CheckpointFile | None:
        """Take a run back to its last good checkpoint, and say what that cost."""
        there = await asyncio.to_thread(go_on, run, self._folder.run(run.id))
        await self._storage(runs.save_progress, run.id, there.run.progress, None)
        feed.cut_back(there.run, there.lines)
        for name in there.broken:
            message = f"Checkpoint {name} could not be read and was left out."
            await self._journal.tell(run.id, "checkpoint_broken", message, level=EventLevel.WARNING)
        if there.dropped:
            first, last = feed.line_count + 1, feed.line_count + there.dropped
            step = there.run.progress.timesteps
            message = f"Metrics after step {step:,} were dropped: lines {first} to {last}."
            data = {"first": first, "last": last}
            await self._journal.tell(run.id, "metrics_dropped", message, data=data)
        return there.checkpoint
