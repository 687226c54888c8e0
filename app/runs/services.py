"""The services for runs: built once, opened and closed together."""

from app.core import Settings, StorageThread
from app.discovery import EnvironmentFinder
from app.runs.creation import Creation
from app.runs.execution import TimeMachine, TrainingServices
from app.runs.history import History
from app.runs.queue import TrainingQueue
from app.runs.recovery import mark_interrupted, queue_interrupted
from app.runs.service import RunService
from app.runs.state import Capacity, CodeRefusal, Journal, OwnerLimit
from app.runs.trash import Trash
from app.runs.unchecked import UncheckedRuns
from app.workers import WorkerPool
from storage.database import run_sets

_DISK_THREADS = 4


class RunServices:
    """Builds and connects the services for runs."""

    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        storage: StorageThread,
        pool: WorkerPool,
        environments: EnvironmentFinder,
        *,
        owner_limit: OwnerLimit,
        code_refusal: CodeRefusal,
    ) -> None:
        self._folder = folder = settings.runs_folder
        self._journal = journal
        self._storage = storage
        self._auto_resume = settings.auto_resume
        self._trash = Trash(folder, storage)
        self.time_machine = TimeMachine(
            journal, folder, storage, pool, code_refusal, clips_kept=settings.clips
        )
        training = TrainingServices(
            pool=pool,
            storage=storage,
            disk=StorageThread(_DISK_THREADS),
            silence_s=settings.worker_silence,
            keep_checkpoints=settings.keep_checkpoints,
            time_machine=self.time_machine,
        )
        capacity = Capacity(settings.workers, owner_limit)
        self.queue = TrainingQueue(
            journal, folder, storage, training, capacity, code_refusal=code_refusal
        )
        unchecked = UncheckedRuns(journal, folder, storage, self.queue, code_refusal)
        self.history = History(folder, storage, fresh=unchecked.fresh)
        self.service = RunService(
            unchecked,
            journal,
            storage,
            queue=self.queue,
            creation=Creation(journal, folder, storage, environments),
            trash=self._trash,
        )

    async def open(self, *, resume: bool = True) -> None:
        """Mark the runs of an earlier server as interrupted; `resume` its queue and its clips."""
        await mark_interrupted(self._journal, self._folder, self._storage)
        if self._auto_resume and resume:
            await queue_interrupted(self._journal, self._folder, self._storage)
        await self._storage(run_sets.hide_open_sets)
        await self._trash.empty()
        if resume:
            await self.time_machine.open()
        await self.queue.open(resume=resume)

    async def close(self) -> None:
        """Stop every run, and wait until all have delivered their model."""
        await self.service.close()
        await self.queue.close()
        await self.time_machine.close()
        await self._trash.close()
