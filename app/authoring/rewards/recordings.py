"""Recorded episodes of each environment: played once in a locked worker, kept beside the runs."""

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from app.authoring.rewards.errors import CannotCheckError
from app.catalog.environments.spec import EnvSpec
from app.protocol import commands, messages
from app.workers.local_worker import LocalWorker, Piece, ProtocolError, WorkerGoneError
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder

FILE = "transitions.npz"

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
        worker: LocalWorker | None = None
        order = commands.Record(
            env_id=spec.id,
            env_kwargs=dict(env_kwargs),
            action_labels=spec.action_labels,
            env_code=spec.code,
        )
        try:
            async with asyncio.timeout(_WITHIN_S):
                worker = await self._pool.start()
                worker.send(messages.encode(order))
                return await _receive(worker)
        except (WorkerGoneError, ProtocolError, TimeoutError, OSError) as error:
            reason = str(error) or f"it took longer than {_WITHIN_S:g} s"
            text = f"No episodes of {spec.name} could be recorded: {reason}."
            raise CannotCheckError(text) from error
        finally:
            if worker is not None:
                worker.kill()
                await worker.wait()


async def _receive(worker: LocalWorker) -> bytes:
    content = bytearray()
    while True:
        match await worker.receive():
            case Piece(header=header, content=piece) if header.name == FILE:
                content += piece
                if len(content) > _LARGEST:
                    raise ProtocolError("a recording larger than any")
                if header.last:
                    return bytes(content)
            case messages.Failed(reason=reason):
                raise ProtocolError(reason.rstrip("."))
            case other:
                raise ProtocolError(f"{type(other).__name__} instead of a recording")


def _key(spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> str:
    what = json.dumps([_FORMAT, spec.id, dict(env_kwargs)], sort_keys=True)
    return hashlib.sha256(what.encode()).hexdigest()[:24]
