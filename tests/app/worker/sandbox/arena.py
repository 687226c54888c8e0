"""Where attacks are run: as a person's environment file, in a locked worker or without a lock."""

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
from app.workers.local_worker import LocalWorker, Received
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
        said = ["works", repr(names["attack"](AIMS))]
    except BaseException as error:
        said = ["stopped", f"{{type(error).__name__}}: {{error}}"]
    print(json.dumps([name, said[0], said[1][:200]]), flush=True)
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
"""What came of each attack: works, stopped or begins (and never came back), and what it said."""


@contextmanager
def aims(folder: Path, *, lab: int | None = None) -> Iterator[dict[str, Any]]:
    """Make files, sockets and memory that are worth attacking."""
    runs, other = folder / "runs", folder / "runs" / "other"
    other.mkdir(parents=True)
    with sqlite3.connect(runs / "lab.db") as database:
        database.execute("create table secrets (what text)")
        database.execute("insert into secrets values ('hash of a password')")
    database.close()
    for name in ("model.zip", "gone", "victim"):
        (other / name).write_text("of somebody else")
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
    """Return all files that were worth attacking."""
    files = (path for path in Path(at["runs"]).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


def portions(attacks: Sequence[Attack]) -> list[Sequence[Attack]]:
    """Divide the attacks: code may load for five seconds, in which a busy machine tries not all."""
    size = 15
    return [attacks[i : i + size] for i in range(0, len(attacks), size)]


def source(attacks: Sequence[Attack], at: dict[str, Any]) -> str:
    """Write the file that a person would send: it attacks while it is loaded."""
    numbers = {name: kernel.NUMBER[call] for name, call in _NAMES.items()}
    numbers["QUOTACTL"] = _QUOTACTL[kernel.ARCHITECTURE]
    return _HARNESS.format(
        aims=json.dumps(at),
        numbers=json.dumps(numbers),
        attacks=json.dumps([(attack.name, attack.code) for attack in attacks]),
    )


def read(printed: str) -> Outcomes:
    """Return what the attacks printed of themselves; the last word of each counts."""
    found: Outcomes = {}
    for line in printed.splitlines():
        if line.startswith('["'):
            name, outcome, said = json.loads(line)
            found[name] = outcome, said
    return found


def without_a_lock(attacks: Sequence[Attack], at: dict[str, Any]) -> Outcomes:
    """Let a plain process try, with a secret in its environment and a file left open."""
    with Path(at["database"]).open("rb") as left_open:
        done = subprocess.run(
            [sys.executable, "-c", source(attacks, at)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "LAB_SECRET": SECRET},
            pass_fds=(left_open.fileno(),),
            timeout=60,
        )
    return read(done.stdout)


async def in_a_worker(attacks: Sequence[Attack], at: dict[str, Any]) -> tuple[Outcomes, str]:
    """Let a locked worker load the attacks as a person's environment; return how it ended, too."""
    worker = LocalWorker(memory_mb=MEMORY_MB)
    try:
        said = await give_code(worker, source(attacks, at))
        ended = type(said).__name__
    except WorkerGoneError as error:
        ended = str(error)
    finally:
        worker.kill()
        await worker.wait()
    return read(worker.printed), ended


async def give_code(worker: LocalWorker, code: str) -> Received:
    """Send a person's environment to a worker, after it said that it is locked."""
    locked = await worker.start()
    assert "seccomp" in locked.layers
    worker.send(messages.encode(commands.Describe(env_id="custom/attack-v1", env_code=code)))
    return await worker.receive()
