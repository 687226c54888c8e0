"""Recorded episodes of environments: played once in a sandboxed worker, stored next to the runs."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any, Final

from app.authoring.rewards.errors import CannotCheckError
from app.catalog.environments import EnvSpec
from app.protocol import UserCodeError, commands
from app.workers import JobError, WorkerPool
from storage.files import LabFolder

FILE: Final = "transitions.npz"

_FORMAT = 1
"""Increase it when episodes are recorded differently, so that old files are not used."""
_WITHIN_S = 120.0
_MAX_BYTES = 48 << 20
_MAX_STORED = 60

_log = logging.getLogger(__name__)


class Recordings:
    """Records episodes of environments where needed; only workers open the files."""

    def __init__(self, folder: LabFolder, pool: WorkerPool) -> None:
        self._folder = folder
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()

    async def get(self, spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> bytes:
        """Return the episodes of an environment with these options; record missing ones.

        Raises:
            CannotCheckError: if they can't be recorded.
        """
        key = _key(spec, env_kwargs)
        if (stored := await self._read(key)) is not None:
            return stored
        async with self._one_at_a_time:
            # Another request may have recorded them in the meantime.
            if (stored := await self._read(key)) is not None:
                return stored
            content = await self._record(spec, env_kwargs)
            await self._store(key, content)
            return content

    async def _store(self, key: str, content: bytes) -> None:
        save = self._folder.save_transitions
        try:
            await asyncio.to_thread(save, key, content, keep=_MAX_STORED)
        except OSError as error:
            # This check works nevertheless; the next one has to record them again.
            _log.warning("Recorded episodes could not be stored: %s", error)

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
                return await job.file(FILE, at_most=_MAX_BYTES)
        except (JobError, UserCodeError) as error:
            reason = str(error).rstrip(".")
            text = f"No episodes of {spec.name} could be recorded: {reason}."
            raise CannotCheckError(text) from error


def _key(spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> str:
    what = json.dumps([_FORMAT, spec.id, dict(env_kwargs)], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()[:24]
