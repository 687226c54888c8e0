"""Save a run's policy before a live change, so that a new run can start from it later."""

import asyncio
import logging

from app.runs.execution.supervisor import Supervisor
from app.workers import WorkerGoneError
from storage.files import SnapshotFiles

_POLICY_WITHIN_S = 3.0
"""Short, because a user waits for the change."""

_log = logging.getLogger(__name__)


async def save_policy_snapshot(supervisor: Supervisor, files: SnapshotFiles) -> None:
    """Store the worker's current policy; a failure here must not fail the change."""
    try:
        async with asyncio.timeout(_POLICY_WITHIN_S):
            policy = await supervisor.newest_policy()
        await asyncio.to_thread(files.save, policy.header.timesteps, policy.weights)
    except (WorkerGoneError, TimeoutError):
        # The run ends or is in a long update; its checkpoints must suffice.
        return
    except OSError as error:
        _log.warning("The policy before a change could not be saved: %s", error.strerror)
