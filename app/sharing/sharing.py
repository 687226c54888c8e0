"""What can be done with a run beyond its lab: keep versions, take it along, bring it in."""

import asyncio
from collections.abc import Sequence

from app.core.events import Event
from app.core.storage_thread import StorageThread
from app.discovery.environment_finder import EnvironmentFinder
from app.evaluation.service import Evaluations
from app.runs.service import RunService
from app.sharing.bundle import Bundle
from app.sharing.exports import Exports
from app.sharing.importing import Imports
from app.sharing.publishing import Publishing
from app.sharing.pulling import Pulls
from app.sharing.versions import Version, pin_version, versions_of
from app.workers.pool import WorkerPool
from storage.database import events
from storage.files.lab_folder import LabFolder
from storage.records.runs import RunRecord


class Sharing:
    """Everything about taking runs along, for pages and the API alike."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
        trainer: RunService,
        evaluations: Evaluations,
        pool: WorkerPool,
    ) -> None:
        self.imports = Imports(folder, storage, environments, trainer)
        self.changed = Event[str]()
        """Something about what can be taken along of a run is new."""
        self.pulls = Pulls(folder, storage, environments, trainer, pool)
        self.exports = Exports(folder, trainer, pool)
        self.publishing = Publishing(folder, trainer, evaluations)
        self.publishing.told = self.changed.emit
        self._folder = folder
        self._storage = storage

    async def open(self) -> None:
        """Tidy up after an earlier server."""
        await self.imports.open()

    async def close(self) -> None:
        """End what is under way."""
        await self.publishing.close()

    async def versions(self, run: RunRecord) -> Sequence[Version]:
        """Return the versions of a run's model, newest first."""
        return await asyncio.to_thread(versions_of, run, self._folder.run(run.id))

    async def pin(self, run: RunRecord, name: str, *, on: bool) -> None:
        """Keep a checkpoint for good, or let newer ones take its place.

        Raises:
            VersionNotFoundError: if the run has none of this name.
        """
        await asyncio.to_thread(pin_version, self._folder.run(run.id), name, on=on)
        self.changed.emit(run.id)

    async def bundle(self, run: RunRecord) -> Bundle:
        """Return a run packed into one file, as it is now."""
        log = await self._storage(events.all_events, run.id)
        return Bundle(run, self._folder.run(run.id), log)
