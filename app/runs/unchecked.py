"""Runs by id, for internal services and `app/access`: nothing here checks permissions."""

from collections.abc import Sequence

from app.core import StorageThread
from app.runs.queue import TrainingQueue
from app.runs.state import CodeRefusal, Journal
from app.workers import PackedPolicy, RecordedVideo, WorkerGoneError
from storage import GroupNotFoundError
from storage.database import family, runs
from storage.files import LabFolder, RunFolder
from storage.records import RunRecord


class UncheckedRuns:
    """Reads runs, adds to their logs and queries their workers; users go through `RunService`."""

    def __init__(
        self,
        journal: Journal,
        folder: LabFolder,
        storage: StorageThread,
        queue: TrainingQueue,
        code_refusal: CodeRefusal,
    ) -> None:
        self.run_changed = journal.run_changed
        self.run_ended = journal.run_ended
        self.save_final_evaluation = journal.save_final_evaluation
        self.add_event = journal.add_event
        self.feed = journal.feed
        self.code_refusal = code_refusal
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._queue = queue

    async def get(self, run_id: str) -> RunRecord:
        """Return a run with its newest numbers.

        Raises:
            RunNotFoundError: if there is none of this id.
        """
        return self.fresh(await self._storage(runs.get_run, run_id))

    async def find(self, beginning: str) -> RunRecord:
        """Return the run whose id starts with `beginning`, or the newest one for `latest`."""
        return self.fresh(await self._storage(runs.find_run, beginning))

    async def group(self, group_id: str) -> Sequence[RunRecord]:
        """Return the runs of a set in order of creation.

        Raises:
            GroupNotFoundError: if there is none of this id.
        """
        members = await self._storage(runs.members, group_id)
        if not members:
            raise GroupNotFoundError(group_id)
        return [self.fresh(run) for run in members]

    async def family(self, run_id: str) -> Sequence[RunRecord]:
        """Return a run with its ancestors and all of their descendants."""
        return [self.fresh(run) for run in await self._storage(family, run_id)]

    def fresh(self, run: RunRecord) -> RunRecord:
        """Return a run with its newest numbers, without a query."""
        feed = self._journal.live(run.id)
        return feed.run if feed is not None and self._queue.supervisor(run.id) is not None else run

    def folder(self, run_id: str) -> RunFolder:
        """Return the files of a run whose id came from the database."""
        return self._folder.run(run_id)

    async def newest_policy(self, run_id: str) -> PackedPolicy | None:
        """Return the current policy of a run from its worker; None if it has no worker.

        Raises:
            WorkerGoneError: if it ends first.
        """
        supervisor = self._queue.supervisor(run_id)
        return None if supervisor is None else await supervisor.newest_policy()

    async def record_video(self, run_id: str) -> RecordedVideo:
        """Return a video of the next complete episode of a run's live view.

        Raises:
            WorkerGoneError: if it has no worker, or ends first.
        """
        supervisor = self._queue.supervisor(run_id)
        if supervisor is None:
            raise WorkerGoneError
        return await supervisor.record_video()

    async def announce_import(self, run: RunRecord, message: str) -> RunRecord:
        """Announce an imported run, and log the import."""
        await self.add_event(run.id, "imported", message)
        return self._journal.announce(run)
