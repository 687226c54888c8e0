"""Find out at the start how well workers are locked in here: by trying to break out."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.protocol import commands, messages
from app.workers.errors import ProtocolError, WorkerGoneError
from app.workers.local_worker import LocalWorker

_MEMORY_MB = 512
_WITHIN_S = 120.0
_FILES = frozenset({"read", "write", "create", "truncate", "unlink"})
_NETWORK = frozenset({"tcp", "udp"})
_CHECK_FAILED = "the check itself failed"


class SandboxLevel(StrEnum):
    """What may be said of workers on this system."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How well workers are locked in, and what gets out."""

    level: SandboxLevel
    layers: tuple[str, ...]
    open_doors: tuple[str, ...]
    """The attacks that worked."""


async def check_sandbox() -> Sandbox:
    """Let a real worker attack a file, the network and this process, and see what works."""
    worker = LocalWorker(memory_mb=_MEMORY_MB)
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "canary"
        for file in (canary, canary.with_name("canary.x")):
            file.write_text("canary")
        job = commands.CheckSandbox(canary=str(canary), lab_pid=os.getpid(), memory_mb=_MEMORY_MB)
        try:
            async with asyncio.timeout(_WITHIN_S):
                locked = await worker.start()
                worker.send(messages.encode(job))
                said = await worker.receive()
        except (WorkerGoneError, ProtocolError, TimeoutError, OSError):
            return Sandbox(SandboxLevel.NONE, (), (_CHECK_FAILED,))
        finally:
            worker.kill()
            await worker.wait()
    doors = said.open if isinstance(said, messages.Doors) else (_CHECK_FAILED,)
    return Sandbox(_level(frozenset(doors)), locked.layers, doors)


def _level(doors: frozenset[str]) -> SandboxLevel:
    if not doors:
        return SandboxLevel.FULL
    decisive = _FILES | _NETWORK | {_CHECK_FAILED}
    return SandboxLevel.NONE if doors & decisive else SandboxLevel.PARTIAL
