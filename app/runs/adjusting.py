"""Change how a run continues: learning rate, entropy, clip range, budget."""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from app.catalog.algorithms import get_algorithm
from app.core import InputError, StorageThread
from app.protocol import ScheduleMode, messages
from app.run_config import read_change
from app.runs.execution import save_policy_snapshot
from app.runs.queue import TrainingQueue
from app.runs.state import Journal, store_change
from app.runs.unchecked import UncheckedRuns
from app.workers import WorkerGoneError
from storage import WrongStateError
from storage.files import SnapshotFiles
from storage.records import ChangeableRun, RunRecord

_CHANGED_WITHIN_S = 5.0

_log = logging.getLogger(__name__)


class RunAdjuster:
    """Sends changes to the worker of a run; without a worker only the budget can be changed."""

    def __init__(
        self,
        unchecked: UncheckedRuns,
        journal: Journal,
        storage: StorageThread,
        queue: TrainingQueue,
    ) -> None:
        self._unchecked = unchecked
        self._journal = journal
        self._storage = storage
        self._queue = queue

    async def adjust(self, run: ChangeableRun, values: Mapping[str, Any]) -> None:
        """Change a run.

        Raises:
            InputError: if a value can't be used.
            WrongStateError: if the run doesn't train and more than the budget is changed.
        """
        change = _with_schedules(run, read_change(get_algorithm(run.algorithm), values))
        _check_budget(run, change)
        supervisor = self._queue.supervisor(run.id)
        if supervisor is None:
            await self._extend(run, change)
            return
        await save_policy_snapshot(
            supervisor, SnapshotFiles(self._unchecked.folder(run.id).snapshots_path)
        )
        try:
            async with asyncio.timeout(_CHANGED_WITHIN_S):
                await supervisor.change(change)
        except TimeoutError:
            _log.warning("Run %s takes long to change; its log reports when it has", run.id)
        except WorkerGoneError:
            # The run is ending; a change of the budget alone is still possible.
            await self._extend(run, change)

    async def _extend(self, run: RunRecord, change: messages.Change) -> None:
        budget = messages.Change(total_timesteps=change.total_timesteps, schedules=change.schedules)
        if change.total_timesteps is None or change != budget:
            raise WrongStateError(
                run.id, run.status, "be changed, except for total_timesteps: it isn't training"
            )
        values = {"total_timesteps": change.total_timesteps, "schedules": change.schedules}
        store = partial(store_change, run.id, run.progress.timesteps, values)
        changed, sentence = await self._storage(store)
        message = f"The budget is now {change.total_timesteps:,} steps."
        message = " ".join(filter(None, [message, sentence]))
        await self._journal.add_event(run.id, "budget_changed", message, data=values)
        await self._journal.save_config(changed)


def _with_schedules(run: RunRecord, change: messages.Change) -> messages.Change:
    """Hold schedules unless requested otherwise; those of a run that hasn't begun just stretch."""
    if change.total_timesteps is None or change.schedules is not None:
        return change
    mode: ScheduleMode = "hold" if run.progress.timesteps else "stretch"
    return msgspec.structs.replace(change, schedules=mode)


def _check_budget(run: RunRecord, change: messages.Change) -> None:
    """Refuse a budget that is used up already: a typo would end the run."""
    done = run.progress.timesteps
    if change.total_timesteps is not None and change.total_timesteps < done:
        raise InputError(
            f"total_timesteps must be at least the {done:,} steps already done, "
            f"got {change.total_timesteps:,}. Stop the run to end it.",
            field="total_timesteps",
        )
