"""Keep the policy that a run had before it was changed, so that one can return to it."""

import asyncio
import logging

from app.runs.execution.supervisor import Supervisor
from app.workers.errors import WorkerGoneError
from storage.files.fork_files import ForkFiles

_HANDED_OUT_WITHIN_S = 3.0
"""A person waits for the change."""

_log = logging.getLogger(__name__)


async def keep_fork(supervisor: Supervisor, files: ForkFiles) -> None:
    """Store the policy as the worker has it now; a change doesn't fail because this does."""
    try:
        async with asyncio.timeout(_HANDED_OUT_WITHIN_S):
            policy = await supervisor.newest_policy()
        await asyncio.to_thread(files.save, policy.header.timesteps, policy.weights)
    except (WorkerGoneError, TimeoutError):
        # It ends, or is in the middle of a long update: its checkpoints have to do.
        return
    except OSError as error:
        _log.warning("A policy before a change could not be kept: %s", error.strerror)
