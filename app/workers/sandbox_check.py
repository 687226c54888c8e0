"""Check at start-up how well workers are sandboxed on this system, by trying to escape."""

import os
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.protocol import UserCodeError, commands, messages
from app.workers.errors import JobError
from app.workers.pool import WorkerPool

_MEMORY_MB = 512
_WITHIN_S = 120.0
_FILES = frozenset({"read", "write", "create", "truncate", "unlink"})
_NETWORK = frozenset({"tcp", "udp"})
_CHECK_FAILED = "the check itself failed"


class SandboxLevel(StrEnum):
    """How well workers are sandboxed on this system."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How well workers are sandboxed, and which attacks succeed."""

    level: SandboxLevel
    layers: tuple[str, ...]
    escapes: tuple[str, ...]
    """The attacks that succeeded."""


async def check_sandbox() -> Sandbox:
    """Let a real worker attack a file, the network and this process; return what succeeded."""
    pool, layers = WorkerPool(memory_mb=_MEMORY_MB, side_slots=0), tuple[str, ...]()
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "canary"
        for file in (canary, canary.with_name("canary.x")):
            file.write_text("canary")
        command = commands.CheckSandbox(
            canary=str(canary), lab_pid=os.getpid(), memory_mb=_MEMORY_MB
        )
        try:
            async with pool.job(command, within_s=_WITHIN_S) as job:
                layers = job.worker.layers
                escapes = (await job.answer(messages.Escapes)).attacks
        except (JobError, UserCodeError):
            return Sandbox(SandboxLevel.NONE, layers, (_CHECK_FAILED,))
    return Sandbox(_level(frozenset(escapes)), layers, escapes)


def _level(escapes: frozenset[str]) -> SandboxLevel:
    if not escapes:
        return SandboxLevel.FULL
    decisive = _FILES | _NETWORK | {_CHECK_FAILED}
    return SandboxLevel.NONE if escapes & decisive else SandboxLevel.PARTIAL
