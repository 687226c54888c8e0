"""Create, start, pause, change, stop and delete runs."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from app.core import StorageThread, Tasks
from app.core.events import Event
from app.run_config import RunRequest, each_run
from app.runs.adjusting import RunAdjuster
from app.runs.creation import Creation
from app.runs.queue import TrainingQueue
from app.runs.reading import RunReader
from app.runs.recovery import last_good_step
from app.runs.state import Journal
from app.runs.trash import Trash
from app.runs.unchecked import UncheckedRuns
from storage import NotWrittenError, WrongStateError
from storage.database import run_sets, runs
from storage.records import (
    FINAL_STATUSES,
    Allowance,
    ChangeableRun,
    RunRecord,
    RunSetRecord,
    RunStatus,
)

_CREATED_WITHIN_S = 5.0


class RunService(RunReader):
    """Reads and changes runs for users: each call on a run takes a proof of permission."""

    def __init__(
        self,
        unchecked: UncheckedRuns,
        journal: Journal,
        storage: StorageThread,
        *,
        queue: TrainingQueue,
        creation: Creation,
        trash: Trash,
    ) -> None:
        super().__init__(unchecked, storage)
        self.run_deleted = Event[str]()
        """The run with this id was deleted."""
        self._journal = journal
        self._queue = queue
        self._creation = creation
        self._trash = trash
        self._creating = Tasks()
        self._adjuster = RunAdjuster(unchecked, journal, storage, queue)

    async def close(self) -> None:
        """Wait until the runs of cancelled requests are created."""
        await self._creating.wait(_CREATED_WITHIN_S)

    async def create(
        self, allowance: Allowance, *requests: RunRequest, policy: bytes | None = None
    ) -> list[RunRecord]:
        """Create the runs of requests: one each, or with `seeds` a seed group.

        Only those with `start` are queued. `policy` is the current policy of `init_from`.

        Raises:
            InputError: if something in a request can't be used; then nothing is created.
        """
        wanted = list(each_run(requests, allowance.owner))
        return await self._creating.complete(self._create(wanted, allowance.owner, policy))

    async def _create(
        self,
        wanted: Sequence[tuple[RunRequest, RunSetRecord | None]],
        owner: str | None,
        policy: bytes | None,
    ) -> list[RunRecord]:
        made: list[RunRecord] = []
        try:
            for request, run_set in wanted:
                run = await self._creation.make(
                    request, run_set=run_set, owner=owner, policy=policy
                )
                made.append(run)
            for set_id in {run.group_id for run in made if run.group_id is not None}:
                await self._storage(run_sets.close_run_set, set_id)
        except BaseException:
            for run in made:
                with suppress(NotWrittenError):
                    await self._delete(run.id)
            raise
        return [
            await self._enqueue(run) if request.start else run
            for run, (request, _) in zip(made, wanted, strict=True)
        ]

    async def start(self, run: ChangeableRun) -> RunRecord:
        """Queue a run; it trains as soon as a worker is free.

        Raises:
            WrongStateError: if it was started before.
        """
        if run.status is not RunStatus.CREATED:
            raise WrongStateError(run.id, run.status, "be started. Resume it if it has ended")
        return await self._enqueue(run)

    async def _enqueue(self, run: RunRecord) -> RunRecord:
        await self._journal.move(run.id, RunStatus.QUEUED)
        await self._queue.fill()
        queued = await self.unchecked.get(run.id)
        if queued.status is RunStatus.QUEUED:
            await self._journal.add_event(run.id, "queued", "Waiting for a free worker.")
        return queued

    async def pause(self, run: ChangeableRun) -> RunRecord:
        """Pause a run with its complete state; its status changes once the worker confirms.

        Raises:
            WrongStateError: if it isn't running.
        """
        if run.status is not RunStatus.RUNNING:
            raise WrongStateError(run.id, run.status, "be paused")
        return self._pause(run, on=True)

    async def resume(self, run: ChangeableRun) -> RunRecord:
        """Resume a paused run, or queue an ended one to resume from its last checkpoint.

        Raises:
            WrongStateError: if there is nothing to resume.
        """
        if run.status is RunStatus.PAUSED:
            return self._pause(run, on=False)
        await self._check_can_resume(run)
        await self._journal.move(run.id, RunStatus.QUEUED)
        await self._queue.fill()
        return await self.unchecked.get(run.id)

    def _pause(self, run: RunRecord, *, on: bool) -> RunRecord:
        supervisor = self._queue.supervisor(run.id)
        if supervisor is None:
            # It has just ended; the database is updated shortly.
            raise WrongStateError(run.id, run.status, "be paused or resumed: it just ended")
        supervisor.pause(on=on)
        return run

    async def stop(self, run: ChangeableRun) -> RunRecord:
        """End a run soon and keep its model.

        Raises:
            WrongStateError: if it has ended already.
        """
        if run.status.is_over:
            raise WrongStateError(run.id, run.status, "be stopped")
        await self._queue.stop(run.id)
        await self._queue.fill()
        return await self.unchecked.get(run.id)

    async def change(self, run: ChangeableRun, **values: Any) -> RunRecord:
        """Change a run's name, notes, tags_json, archived, visibility or shared_json."""
        changed = await self._storage(runs.change_run, run.id, **values)
        return self._journal.announce(changed)

    async def adjust(self, run: ChangeableRun, values: Mapping[str, Any]) -> RunRecord:
        """Change learning_rate, ent_coef, clip_range or total_timesteps of a run that trains.

        A run that doesn't train can get another total_timesteps; `resume` then uses it.

        Raises:
            InputError: if a value can't be used.
            WrongStateError: if the run doesn't train and more than the budget is changed.
        """
        await self._adjuster.adjust(run, values)
        return await self.unchecked.get(run.id)

    async def delete(self, run: ChangeableRun) -> None:
        """Delete a run and its files; `restore` undoes it within ten seconds.

        Raises:
            WrongStateError: while it is active.
        """
        await self._delete(run.id)

    async def _delete(self, run_id: str) -> None:
        await self._trash.put(run_id)
        self._journal.forget(run_id)
        self.run_deleted.emit(run_id)

    async def restore(self, run: ChangeableRun) -> RunRecord:
        """Restore a deleted run.

        Raises:
            RunNotFoundError: if the ten seconds are over.
        """
        return self._journal.announce(await self._trash.restore(run.id))

    async def _check_can_resume(self, run: RunRecord) -> None:
        if run.status not in FINAL_STATUSES:
            raise WrongStateError(run.id, run.status, "be resumed")
        if run.status is RunStatus.COMPLETED and run.progress.timesteps >= run.total_timesteps:
            doing = "be resumed. Give it a larger total_timesteps first"
            raise WrongStateError(run.id, run.status, doing)
        if self._queue.supervisor(run.id) is not None:
            raise NotWrittenError("the end of the run is not stored yet")
        if (
            run.started_at is not None
            and await last_good_step(self.unchecked.folder(run.id)) is None
        ):
            raise WrongStateError(run.id, run.status, "be resumed: it has no checkpoint")
