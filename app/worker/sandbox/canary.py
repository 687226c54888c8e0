"""Try what the sandbox must forbid and report what succeeded; standard library only."""

import os
import resource
import socket
import subprocess
from collections.abc import Callable


def run_attacks(canary: str, lab_pid: int, memory_mb: int) -> list[str]:
    """Run all attacks and return the names of those that succeeded.

    Their targets are the file `canary`, the web process, and more than `memory_mb` of memory.
    """
    attacks = _attacks(canary, lab_pid, memory_mb)
    return [name for name, attack in attacks.items() if _succeeds(attack)]


def _attacks(canary: str, lab_pid: int, memory_mb: int) -> dict[str, Callable[[], object]]:
    return {
        "read": lambda: open(canary).close(),  # noqa: PTH123
        "write": lambda: open(canary, "r+").close(),  # noqa: PTH123
        "create": lambda: open(canary + ".new", "w").close(),  # noqa: PTH123
        "chmod": lambda: os.chmod(canary, 0o600),  # noqa: PTH101
        "truncate": lambda: os.truncate(canary, 1),
        "unlink": lambda: os.unlink(canary + ".x"),  # noqa: PTH108
        "proc": lambda: open(f"/proc/{lab_pid}/environ").close(),  # noqa: PTH123
        "tcp": lambda: socket.socket().close(),
        "udp": lambda: socket.socket(type=socket.SOCK_DGRAM).close(),
        "unix": lambda: socket.socket(socket.AF_UNIX).close(),
        "signal": lambda: os.kill(lab_pid, 0),
        "prlimit": lambda: resource.prlimit(lab_pid, resource.RLIMIT_CORE),
        "exec": lambda: subprocess.run(["/bin/true"], check=True),
        "fork": lambda: os.fork() or os._exit(0),
        "memory": lambda: bytearray((memory_mb + 64) << 20),
    }


def _succeeds(attack: Callable[[], object]) -> bool:
    try:
        attack()
    except Exception:  # noqa: BLE001 - any error means that the attack was stopped
        return False
    return True
