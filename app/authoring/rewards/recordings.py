"""Recorded episodes of each environment: played once in a locked worker, kept beside the runs."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from app.authoring.rewards.errors import CannotCheckError
from app.catalog.environments.spec import EnvSpec
from app.protocol import commands
from app.protocol.user_code import UserCodeError
from app.workers.errors import JobError
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder

FILE: Final = "transitions.npz"

_FORMAT = 1
"""Counted up when episodes are recorded in another way, so that old ones aren't used."""
_WITHIN_S = 120.0
_LARGEST = 48 << 20
_MOST_KEPT = 60

_log = logging.getLogger(__name__)


class Recordings:
    """Has episodes recorded that aren't there yet; nobody opens them but workers."""

    def __init__(self, folder: LabFolder, pool: WorkerPool) -> None:
        self._folder = folder
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()

    async def get(self, spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> bytes:
        """Return the episodes of an environment with these options, recorded now if need be.

        Raises:
            CannotCheckError: if they can't be recorded.
        """
        key = _key(spec, env_kwargs)
        if (kept := await self._read(key)) is not None:
            return kept
        async with self._one_at_a_time:
            # Another may have waited for the same.
            if (kept := await self._read(key)) is not None:
                return kept
            content = await self._record(spec, env_kwargs)
            await self._keep(key, content)
            return content

    async def _keep(self, key: str, content: bytes) -> None:
        save = self._folder.save_transitions
        try:
            await asyncio.to_thread(save, key, content, keep=_MOST_KEPT)
        except OSError as error:
            # A full disk costs time at the next check, not this one.
            _log.warning("Recorded episodes could not be kept: %s", error)

    async def _read(self, key: str) -> bytes | None:
        return await asyncio.to_thread(self._folder.read_transitions, key)

    async def _record(self, spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> bytes:
        command = commands.Record(
            env_id=spec.id,
            env_kwargs=dict(env_kwargs),
            action_labels=spec.action_labels,
            env_code=spec.code,
        )
        try:
            async with self._pool.job(command, within_s=_WITHIN_S) as job:
                return await job.file(FILE, at_most=_LARGEST)
        except (JobError, UserCodeError) as error:
            reason = str(error).rstrip(".")
            text = f"No episodes of {spec.name} could be recorded: {reason}."
            raise CannotCheckError(text) from error


def _key(spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> str:
    what = json.dumps([_FORMAT, spec.id, dict(env_kwargs)], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()[:24]
