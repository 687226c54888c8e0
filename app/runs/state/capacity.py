"""How many runs may train at once: in the whole lab, and of each user."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from storage.records import QueuedRun, RunRecord

OwnerLimit = Callable[[str | None], int | None]
"""Returns how many runs of an owner may train at once; None: no limit per owner."""

CodeRefusal = Callable[[RunRecord], Awaitable[str | None]]
"""Returns why the code of a run may not be executed; None: it may, or there is none."""


def no_limit(_: str | None) -> int | None:
    """Set no limit per owner."""
    return None


@dataclass(frozen=True, slots=True)
class Capacity:
    """Chooses the next runs in queue order; owners at their limit don't block the others."""

    limit: int
    owner_limit: OwnerLimit = no_limit

    def choose(
        self, waiting: Sequence[QueuedRun], training: Iterable[str | None]
    ) -> list[QueuedRun]:
        """Return the runs that may start now; `training` has the owner of each active run."""
        busy = Counter(training)
        chosen: list[QueuedRun] = []
        for run in waiting:
            if busy.total() >= self.limit:
                break
            limit = self.owner_limit(run.owner)
            if limit is None or busy[run.owner] < limit:
                busy[run.owner] += 1
                chosen.append(run)
        return chosen
