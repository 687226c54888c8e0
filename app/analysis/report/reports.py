"""Make reports off the event loop, and keep the last few for who wants them in another form."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from app.analysis.insights.insight import Insight
from app.analysis.report.content import Report
from app.analysis.report.gathering import Told, gather
from storage.files.lab_folder import LabFolder
from storage.records.runs import RunRecord

_KEPT = 4
_AT_ONCE = 1


class Reports:
    """Makes the report of a run once for as long as nothing about it changes."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder
        self._made: OrderedDict[str, tuple[Any, Report]] = OrderedDict()
        self._making = asyncio.Semaphore(_AT_ONCE)

    async def make(self, run: RunRecord, insights: Sequence[Insight], *, told: Told) -> Report:
        """Return all that there is to say about a run right now."""
        folder = self._folder.run(run.id)
        loop = asyncio.get_running_loop()

        def tell(share: float, what: str) -> None:
            loop.call_soon_threadsafe(told, share, what)

        async with self._making:
            state = (run, tuple(insights), await asyncio.to_thread(folder.stamp))
            known = self._made.get(run.id)
            if known is None or known[0] != state:
                gathering = partial(
                    gather, run, folder, insights, version=version("rl-lab"), told=tell
                )
                known = state, await asyncio.to_thread(gathering)
            self._made[run.id] = known
            self._made.move_to_end(run.id)
            while len(self._made) > _KEPT:
                self._made.popitem(last=False)
        return known[1]
