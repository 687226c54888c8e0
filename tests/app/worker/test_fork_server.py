"""Forked workers: what they share with each other, and what they don't."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop

from app.protocol import commands, messages
from app.worker.fork_server import WORKER_NAME
from app.workers import worker_process
from app.workers.local_worker import LocalWorker
from app.workers.worker_process import ForkServer, fork_server
from tests.app.worker.sandbox.attack_runner import give_code
from tests.lab_server import is_alive, is_worker, wait_until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only"),
    pytest.mark.slow,
]

_SELF = """
import json, os, random, signal, sys, threading
import cv2, numpy as np, torch
descriptors = []
for number in range(256):
    try:
        os.fstat(number)
    except OSError:
        continue
    descriptors.append(number)
handlers = {s.name: repr(signal.getsignal(s)) for s in signal.Signals
            if signal.getsignal(s) not in (signal.SIG_DFL, None)}
print(json.dumps({
    "pid": os.getpid(), "parent": os.getppid(), "group": os.getpgrp(), "session": os.getsid(0),
    "descriptors": descriptors, "handlers": sorted(handlers), "torch": "torch" in sys.modules,
    "chance": [random.random(), float(np.random.rand()), float(torch.rand(()))],
    "environment": sorted(os.environ), "folder": os.getcwd(), "arguments": sys.argv[1:],
}), flush=True)
"""


async def poll_until(condition: Callable[[], bool]) -> None:
    """Poll for a condition that sends no event."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


async def describe_itself(worker: LocalWorker) -> dict[str, Any]:
    """Return what a worker reports about its process and what it inherited."""
    await give_code(worker, _SELF)
    worker.kill()
    await worker.wait()
    lines = [line for line in worker.printed.splitlines() if line.startswith('{"pid"')]
    description: dict[str, Any] = json.loads(lines[-1])
    return description


@pytest.fixture
async def worker() -> AsyncIterator[LocalWorker]:
    started = LocalWorker(memory_mb=1_000)
    await started.start()
    yield started
    started.kill()
    await started.wait()


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    """A separate fork server that a test may damage."""
    server = ForkServer()
    monkeypatch.setattr(worker_process, "fork_server", lambda: server)
    yield server
    server.close()


async def test_forked_workers_share_neither_descriptors_nor_random_state() -> None:
    first, second = [await describe_itself(LocalWorker(memory_mb=1_000)) for _ in range(2)]

    for description in (first, second):
        assert description["parent"] == os.getpid()
        assert description["group"] == description["pid"]
        assert description["session"] == fork_server().pid
        # Commands, standard output and error, messages.
        assert description["descriptors"] == [0, 1, 2, 3]
        assert description["folder"] == "/"
    assert first["pid"] != second["pid"]
    assert not set(first["chance"]) & set(second["chance"])


def autogroup(pid: int) -> str:
    """Return the kernel's scheduling group of a process; empty where there are none."""
    try:
        return Path(f"/proc/{pid}/autogroup").read_text()
    except OSError:
        return ""


async def test_workers_have_a_lower_priority_than_the_web_process(worker: LocalWorker) -> None:
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == 10
    worker.lower_priority()
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == 15
    if autogroup(os.getpid()):
        assert autogroup(worker.pid).split()[-2:] == ["nice", "10"]


async def test_a_forked_worker_has_the_same_environment_as_a_spawned_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forked = await describe_itself(LocalWorker(memory_mb=1_000))
    monkeypatch.setattr(fork_server(), "can_fork", False)
    spawned = await describe_itself(LocalWorker(memory_mb=1_000))

    assert forked["arguments"] == ["fork-server"]
    assert spawned["arguments"] == ["worker", "1000"]
    for name in ("handlers", "environment", "folder", "descriptors"):
        assert forked[name] == spawned[name], name


async def test_the_server_has_one_thread_and_no_open_files(worker: LocalWorker) -> None:
    server = psutil.Process(fork_server().pid)

    assert server.num_threads() == 1
    # Requests, /dev/null, the lab's standard error; a worker's pipes are closed once it is forked.
    wait_until(lambda: server.num_fds() == 3)


async def test_workers_continue_when_their_fork_server_dies(worker: LocalWorker) -> None:
    first = fork_server().pid
    assert first is not None
    os.kill(first, signal.SIGKILL)

    other = LocalWorker(memory_mb=1_000)
    await other.start()
    worker.send(messages.encode(commands.Describe(env_id="CartPole-v1")))
    message = await worker.receive()
    other.kill()
    await other.wait()

    assert isinstance(message, messages.Described)
    assert fork_server().pid != first


async def test_a_fork_server_whose_imports_start_threads_is_not_used(
    own_server: ForkServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    boot = tmp_path / "boot.py"
    boot.write_text(
        "import runpy, sys, threading, time\n"
        "class Careless:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'torch':\n"
        "            threading.Thread(target=time.sleep, args=[60], daemon=True).start()\n"
        "sys.meta_path.insert(0, Careless)\n"
        f"runpy.run_path({str(worker_process.boot_path())!r}, run_name='__main__')\n"
    )
    monkeypatch.setattr(worker_process, "boot_path", lambda: boot)

    spawned = LocalWorker(memory_mb=1_000)
    locked = await spawned.start()
    arguments = psutil.Process(spawned.pid).cmdline()
    spawned.kill()
    await spawned.wait()

    assert not own_server.can_fork
    assert arguments[-2:] == ["worker", "1000"]
    assert "seccomp" in locked.layers


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_exited_worker_leaves_no_open_descriptor(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def start_and_end() -> None:
        one = LocalWorker(memory_mb=1_000)
        await one.start()
        one.kill()
        await one.wait()

    async def count() -> int:
        await start_and_end()
        before = psutil.Process().num_fds()
        for _ in range(3):
            await start_and_end()
        await poll_until(lambda: psutil.Process().num_fds() <= before)
        return psutil.Process().num_fds() - before

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(asyncio.wait_for(count(), 60)) == 0


async def test_a_cancelled_start_of_a_worker_leaves_no_zombie() -> None:
    before = {child.pid for child in psutil.Process().children()}
    starting = asyncio.ensure_future(LocalWorker(memory_mb=1_000).start())
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    await fork_server()._tasks.wait(30)
    known = before | {fork_server().pid}
    await poll_until(lambda: {child.pid for child in psutil.Process().children()} <= known)


async def test_a_worker_exits_with_the_lab_even_if_python_is_busy() -> None:
    """The kernel kills it with its parent, which is the lab and not the fork server."""
    code = (
        "import asyncio, sys; sys.path.insert(0, sys.argv[1])\n"
        "from tests.app.worker.sandbox.attack_runner import give_code\n"
        "from app.workers.local_worker import LocalWorker\n"
        "async def main():\n"
        "    worker = LocalWorker(memory_mb=1_000)\n"
        "    asyncio.ensure_future(give_code(worker, "
        "\"print('busy', flush=True)\\nsum(range(10**12))\"))\n"
        "    while 'busy' not in worker.printed: await asyncio.sleep(0.01)\n"
        "    print(worker.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    lab = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(Path.cwd()), stdout=asyncio.subprocess.PIPE
    )
    assert lab.stdout is not None
    busy = psutil.Process(int(await lab.stdout.readline()))
    assert is_worker(busy)
    assert busy.name() == WORKER_NAME

    lab.kill()
    await lab.wait()

    await poll_until(lambda: not is_alive(busy))


@pytest.mark.usefixtures("own_server")
async def test_a_fork_server_that_cannot_start_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork server that keeps dying is not restarted endlessly."""
    monkeypatch.setattr(worker_process, "boot_path", lambda: Path("/nothing/there.py"))

    with pytest.raises(Exception, match="the fork server does not answer"):
        await LocalWorker(memory_mb=1_000).start()
