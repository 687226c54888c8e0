"""Versions, bundles, imports, exports and publication of runs."""

import asyncio
from collections.abc import Sequence

from app.core import StorageThread
from app.core.events import Event
from app.discovery import EnvironmentFinder
from app.evaluation import Evaluations
from app.runs import RunService
from app.sharing.bundle import Bundle
from app.sharing.exports import Exports
from app.sharing.importing import Imports
from app.sharing.publishing import Publishing
from app.sharing.pulling import Pulls
from app.sharing.versions import Version, pin_version, versions_of
from app.workers import WorkerPool
from storage.database import events
from storage.files import LabFolder
from storage.records import ChangeableRun, VisibleRun


class Sharing:
    """Groups the services of this package, for pages and the API."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        environments: EnvironmentFinder,
        runs: RunService,
        evaluations: Evaluations,
        pool: WorkerPool,
    ) -> None:
        self.imports = Imports(folder, storage, environments, runs)
        self.changed = Event[str]()
        """Emits the id of a run whose versions or publication changed."""
        self.pulls = Pulls(folder, storage, environments, runs, pool)
        self.exports = Exports(folder, runs, pool)
        self.publishing = Publishing(folder, runs, evaluations, pool, on_change=self.changed.emit)
        self._evaluations = evaluations
        self._folder = folder
        self._storage = storage

    async def open(self) -> None:
        """Remove unfinished imports of an earlier server."""
        await self.imports.open()

    async def close(self) -> None:
        """Cancel active uploads."""
        await self.publishing.close()

    async def versions(self, run: VisibleRun) -> Sequence[Version]:
        """Return the versions of a run's model, newest first."""
        evaluations = await self._evaluations.list(run)
        return await asyncio.to_thread(versions_of, run, self._folder.run(run.id), evaluations)

    async def pin(self, run: ChangeableRun, name: str, *, on: bool) -> None:
        """Pin a checkpoint, or unpin it so that newer ones may replace it.

        Raises:
            VersionNotFoundError: if the run has no checkpoint of this name.
        """
        await asyncio.to_thread(pin_version, self._folder.run(run.id), name, on=on)
        self.changed.emit(run.id)

    async def bundle(self, run: VisibleRun) -> Bundle:
        """Return a bundle of the run's current files."""
        log = await self._storage(events.all_events, run.id)
        return Bundle(run, self._folder.run(run.id), log)
