"""How many runs may train at once: in the whole lab, and of each person."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from storage.records.runs import RunRecord

OwnerLimit = Callable[[str | None], int | None]
"""Returns how many runs of somebody may train at once; None: no limit of their own."""

CodeRefusal = Callable[[RunRecord], Awaitable[str | None]]
"""Says why a worker may not be given the code in a run; None: it may, or there is none."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What of a run's owner decides whether it may have a worker."""

    limit: OwnerLimit
    code_refusal: CodeRefusal


def no_limit(_: str | None) -> int | None:
    """Let everybody have as many as the lab has workers."""
    return None


@dataclass(frozen=True, slots=True)
class Capacity:
    """Chooses who is next, in the order of waiting; who has their share waits without blocking."""

    limit: int
    of_owner: OwnerLimit = no_limit

    def choose(
        self, waiting: Sequence[RunRecord], training: Iterable[str | None]
    ) -> list[RunRecord]:
        """Return the runs that may begin now; `training` are the owners of those that do."""
        busy = Counter(training)
        chosen: list[RunRecord] = []
        for run in waiting:
            if busy.total() >= self.limit:
                break
            most = self.of_owner(run.owner)
            if most is None or busy[run.owner] < most:
                busy[run.owner] += 1
                chosen.append(run)
        return chosen
