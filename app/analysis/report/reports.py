"""Make reports off the event loop; cache the last ones for requests in another form."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from app.analysis.insights import Insight
from app.analysis.report.content import Report
from app.analysis.report.gathering import OnProgress, gather, ignore_progress
from storage.files import LabFolder
from storage.records import VisibleRun

FindInsights = Callable[[VisibleRun], Awaitable[Sequence[Insight]]]

_CACHED = 4
_AT_ONCE = 1


class Reports:
    """Makes reports of runs, and caches each until its run changes."""

    def __init__(self, folder: LabFolder, find_insights: FindInsights) -> None:
        self._folder = folder
        self._find_insights = find_insights
        self._made: OrderedDict[str, tuple[Any, Report]] = OrderedDict()
        self._making = asyncio.Semaphore(_AT_ONCE)

    async def make(self, run: VisibleRun, *, on_progress: OnProgress = ignore_progress) -> Report:
        """Return the current report of a run."""
        insights = await self._find_insights(run)
        folder = self._folder.run(run.id)
        loop = asyncio.get_running_loop()

        def report_progress(share: float, what: str) -> None:
            loop.call_soon_threadsafe(on_progress, share, what)

        async with self._making:
            state = (run, tuple(insights), await asyncio.to_thread(folder.stamp))
            known = self._made.get(run.id)
            if known is None or known[0] != state:
                gathering = partial(
                    gather,
                    run,
                    folder,
                    insights,
                    version=version("rl-lab"),
                    on_progress=report_progress,
                )
                known = state, await asyncio.to_thread(gathering)
            self._made[run.id] = known
            self._made.move_to_end(run.id)
            while len(self._made) > _CACHED:
                self._made.popitem(last=False)
        return known[1]
