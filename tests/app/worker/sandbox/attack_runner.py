"""Run attacks as a user's environment file, in a sandboxed worker or without a sandbox."""

import ctypes
import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from app.protocol import commands, messages
from app.worker.sandbox import kernel
from app.workers.errors import WorkerGoneError
from app.workers.local_worker import LocalWorker
from app.workers.worker import Received
from app.workers.worker_process import boot_path
from tests.app.worker.sandbox.attacks import Attack

SECRET = "secret-of-the-lab"
MEMORY_MB = 1_000

_HARNESS = """
import ctypes, json, os, sys

AIMS = json.loads({aims!r})
NUMBERS = json.loads({numbers!r})
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


def call(number, *arguments):
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


for name, body in json.loads({attacks!r}):
    print(json.dumps([name, "begins", ""]), flush=True)
    names = dict(NUMBERS, call=call, LIBC=LIBC)
    try:
        lines = "".join(f"    {{line}}\\n" for line in body.splitlines())
        exec("def attack(aims):\\n" + lines, names)
        result = ["works", repr(names["attack"](AIMS))]
    except BaseException as error:
        result = ["stopped", f"{{type(error).__name__}}: {{error}}"]
    print(json.dumps([name, result[0], result[1][:200]]), flush=True)
"""

_NAMES = {
    "CLONE": "clone",
    "TGKILL": "tgkill",
    "SECCOMP": "seccomp",
    "KEYCTL": "keyctl",
    "VM_WRITE": "process_vm_writev",
    "MOUNT": "mount",
    "INIT_MODULE": "init_module",
    "REBOOT": "reboot",
    "SETNS": "setns",
    "BPF": "bpf",
    "PERF": "perf_event_open",
    "USERFAULT": "userfaultfd",
}
_QUOTACTL = {"x86_64": 179, "aarch64": 60}

Outcomes = dict[str, tuple[str, str]]
"""The result of each attack (works, stopped, or begins if it never returned) and its output."""


@contextmanager
def aims(folder: Path, *, lab: int | None = None) -> Iterator[dict[str, Any]]:
    """Create targets of attacks: files, sockets and memory."""
    runs, other = folder / "runs", folder / "runs" / "other"
    other.mkdir(parents=True)
    with sqlite3.connect(runs / "lab.db") as database:
        database.execute("create table secrets (what text)")
        database.execute("insert into secrets values ('hash of a password')")
    database.close()
    for name in ("model.zip", "gone", "victim"):
        (other / name).write_text("of another user")
    (runs / ".secret").write_text(SECRET)
    (folder / "link").symlink_to(other / "model.zip")
    memory = ctypes.create_string_buffer(b"of the lab", 16)
    abstract = f"lab-{os.getpid()}-{id(folder)}"
    with ExitStack() as open_sockets:
        tcp = open_sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=50))
        for kind, at in (
            (socket.SOCK_STREAM, str(runs / "s")),
            (socket.SOCK_DGRAM, str(runs / "d")),
            (socket.SOCK_STREAM, "\0" + abstract),
        ):
            unix = open_sockets.enter_context(socket.socket(socket.AF_UNIX, kind))
            unix.bind(at)
            if kind == socket.SOCK_STREAM:
                unix.listen(50)
        yield {
            "runs": str(runs),
            "other": str(other),
            "database": str(runs / "lab.db"),
            "victim": str(other / "victim"),
            "secret": str(runs / ".secret"),
            "link": str(folder / "link"),
            "project": str(Path.cwd() / "main.py"),
            "boot": str(boot_path()),
            "lab": lab or os.getpid(),
            "address": ctypes.addressof(memory),
            "port": tcp.getsockname()[1],
            "socket": str(runs / "s"),
            "datagram": str(runs / "d"),
            "abstract": abstract,
        }


def content(at: dict[str, Any]) -> dict[str, bytes]:
    """Return the content of all target files."""
    files = (path for path in Path(at["runs"]).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def batches(attacks: Sequence[Attack]) -> list[Sequence[Attack]]:
    """Divide the attacks: code may load for five seconds, too short for all on a busy machine."""
    size = 15
    return [attacks[i : i + size] for i in range(0, len(attacks), size)]


def source(attacks: Sequence[Attack], at: dict[str, Any]) -> str:
    """Return the environment file, which attacks while it is loaded."""
    numbers = {name: kernel.NUMBER[call] for name, call in _NAMES.items()}
    numbers["QUOTACTL"] = _QUOTACTL[kernel.ARCHITECTURE]
    return _HARNESS.format(
        aims=json.dumps(at),
        numbers=json.dumps(numbers),
        attacks=json.dumps([(attack.name, attack.code) for attack in attacks]),
    )


def parse_outcomes(printed: str) -> Outcomes:
    """Parse the attacks' output; the last line of each attack is its result."""
    outcomes: Outcomes = {}
    for line in printed.splitlines():
        if line.startswith('["'):
            name, outcome, result = json.loads(line)
            outcomes[name] = outcome, result
    return outcomes


def run_without_sandbox(attacks: Sequence[Attack], at: dict[str, Any]) -> Outcomes:
    """Run attacks in a plain process, with a secret environment variable and an open file."""
    with Path(at["database"]).open("rb") as open_file:
        process = subprocess.run(
            [sys.executable, "-c", source(attacks, at)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "LAB_SECRET": SECRET},
            pass_fds=(open_file.fileno(),),
            timeout=60,
        )
    return parse_outcomes(process.stdout)


async def run_in_worker(attacks: Sequence[Attack], at: dict[str, Any]) -> tuple[Outcomes, str]:
    """Run attacks as a user's environment in a sandboxed worker; return also how it ended."""
    worker = LocalWorker(memory_mb=MEMORY_MB)
    try:
        result = await give_code(worker, source(attacks, at))
        ended = type(result).__name__
    except WorkerGoneError as error:
        ended = str(error)
    finally:
        worker.kill()
        await worker.wait()
    return parse_outcomes(worker.printed), ended


async def give_code(worker: LocalWorker, code: str) -> Received:
    """Send a user's environment to a worker, after it reported its sandbox."""
    sandbox = await worker.start()
    assert "seccomp" in sandbox.layers
    worker.send(messages.encode(commands.Describe(env_id="custom/attack-v1", env_code=code)))
    return await worker.receive()
