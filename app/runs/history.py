"""Past runs: pages of them, filter values, and sketches of their learning curves."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from app.core import StorageThread
from storage.database import Sketcher, history, runs
from storage.files import LabFolder
from storage.metrics import metrics
from storage.records import Facets, HistoryPage, JsonObject, RunRecord, SeenFilter, VisibleRun

_READERS = 1


class History:
    """Provides lists of past runs, with the newest numbers of those that train."""

    def __init__(
        self,
        folder: LabFolder,
        storage: StorageThread,
        *,
        fresh: Callable[[RunRecord], RunRecord],
    ) -> None:
        self.fresh = fresh
        """Returns a run with its newest numbers, without a database query."""
        self._folder = folder
        self._storage = storage
        self._reading = asyncio.Semaphore(_READERS)

    async def page(self, wanted: SeenFilter, **order: Any) -> HistoryPage:
        """Return a page of runs; see `storage.database.history.history_page`."""
        found = await self._storage(history.history_page, wanted, **order)
        entries = tuple(tuple(self.fresh(run) for run in entry) for entry in found.entries)
        return replace(found, entries=entries)

    async def facets(self, seen: SeenFilter) -> Facets:
        """Return the values that runs can be filtered by."""
        return await self._storage(history.facets, seen)

    async def with_sketch(self, run: VisibleRun) -> RunRecord:
        """Return a run with the sketch of its curve, computed from its metrics once and stored.

        Runs that train update their sketch; this is for older and imported ones.
        """
        if run.sketch is not None or not run.status.is_over:
            return run
        path = self._folder.run(run.id).metrics

        def read() -> RunRecord:
            sketcher, last = Sketcher(), run.progress.last_evaluation

            def lines() -> Iterator[JsonObject]:
                nonlocal last
                for line in metrics.each_line(path):
                    last = line.get("eval_reward", last)
                    yield line

            sketch = sketcher.add(lines())
            return replace(run, sketch=sketch, progress=replace(run.progress, last_evaluation=last))

        async with self._reading:
            sketched = await asyncio.to_thread(read)
        save = partial(runs.save_sketch, last_evaluation=sketched.progress.last_evaluation)
        if sketched.sketch is not None:
            await self._storage(save, run.id, sketched.sketch)
        return sketched
