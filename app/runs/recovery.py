"""Handle runs that were training when an earlier server ended."""

import asyncio
from functools import partial

from app.core import StorageThread, until_written
from app.runs.state import Journal, resume_hint
from storage.database import runs
from storage.files import LabFolder, RunFolder
from storage.records import RunStatus


async def mark_interrupted(journal: Journal, folder: LabFolder, storage: StorageThread) -> None:
    """Mark the runs whose worker ended with an earlier server as interrupted."""
    for run in await storage(runs.orphaned_runs):
        files = folder.run(run.id)
        await asyncio.to_thread(files.remove_unfinished)
        step = await last_good_step(files)
        message = f"The server ended while the run was training.{resume_hint(step)}"
        move = partial(journal.move, run.id, RunStatus.INTERRUPTED, message)
        await until_written(partial(move, error=message), f"The end of run {run.id}")


async def queue_interrupted(journal: Journal, folder: LabFolder, storage: StorageThread) -> None:
    """Queue the interrupted runs that have a checkpoint."""
    for run in await storage(runs.interrupted_runs):
        if await last_good_step(folder.run(run.id)) is not None:
            move = partial(journal.move, run.id, RunStatus.QUEUED)
            await until_written(move, f"That run {run.id} continues")


async def last_good_step(files: RunFolder) -> int | None:
    """Return the step of the checkpoint from which a run would resume."""

    def newest() -> int | None:
        return max((file.timesteps for file in files.checkpoints if file.is_intact()), default=None)

    return await asyncio.to_thread(newest)
