"""Clients that do not read, read single bytes, or come in hundreds do not affect others."""

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import psutil
import pytest

from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_LINES = 15_000
_SLOW_CLIENTS = 30
_MOST_GROWTH = 96 << 20
_MOST_STREAMS = 300


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LabServer, str]]:
    """A lab with a stopped run whose metrics exceed the buffers of a connection."""
    with LabServer(
        tmp_path_factory.mktemp("slow-clients"), free_port(), RL_LAB_WORKERS="1"
    ) as server:
        run_id = server.create()["id"]
        server.api.post(f"/runs/{run_id}/stop")
        server.kill()
        (folder,) = server.folder.glob(f"*{run_id}*")
        with (folder / "metrics.jsonl").open("w") as file:
            for n in range(1, _LINES + 1):
                line = {"n": n, "timesteps": n, "episode": n, "reward": 1.0, "mean_reward": 1.0}
                file.write(json.dumps({**line, "note": "x" * 400}) + "\n")
        server.restart()
        yield server, run_id


def send_request(server: LabServer, path: str) -> socket.socket:
    """Send a request and read read_nothing of the answer."""
    host, port = server.url.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)))
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    line.sendall(f"GET /api{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    return line


def numbers(server: LabServer, run_id: str) -> list[int]:
    with server.stream(f"/runs/{run_id}/stream?all=1&after=0") as stream:
        return [
            line["n"]
            for event in stream
            if event["event"] == "metrics"
            for line in json.loads(event["data"])["items"]
        ]


def read_nothing(_: socket.socket) -> None:
    """Don't read at all."""


def read_a_byte(line: socket.socket) -> None:
    line.recv(1)


@pytest.mark.parametrize("read", [read_nothing, read_a_byte])
def test_slow_clients_cost_little_memory_and_do_not_delay_others(
    lab: tuple[LabServer, str], read: Callable[[socket.socket], None]
) -> None:
    server, run_id = lab
    process = psutil.Process(server.process.pid)
    before = process.memory_info().rss

    with ExitStack() as opened:
        path = f"/runs/{run_id}/stream?all=1&after=0"
        lines = [opened.enter_context(send_request(server, path)) for _ in range(_SLOW_CLIENTS)]
        for line in lines:
            read(line)
        received = numbers(server, run_id)
        grown = process.memory_info().rss - before

    assert received == list(range(1, _LINES + 1))
    assert grown < _MOST_GROWTH


def is_healthy_during(server: LabServer, task: Future[list[bytes]]) -> bool:
    """Request the health of the server until a task has ended."""
    answers = []
    while not task.done():
        answers.append(server.api.get("/health").json()["status"])
    return set(answers) == {"ok"}


def test_the_lab_stays_usable_with_five_hundred_streams(lab: tuple[LabServer, str]) -> None:
    server, _ = lab
    waiting = server.create()["id"]
    path = f"/runs/{waiting}/stream"

    with ExitStack() as opened, ThreadPoolExecutor(1) as thread:

        def open_all() -> list[bytes]:
            lines = [opened.enter_context(send_request(server, path)) for _ in range(500)]
            return [line.recv(12) for line in lines]

        opening = thread.submit(open_all)
        is_healthy = is_healthy_during(server, opening)
        answers = Counter(opening.result())

        assert answers == {b"HTTP/1.1 200": _MOST_STREAMS, b"HTTP/1.1 429": 500 - _MOST_STREAMS}
        assert is_healthy
        assert server.api.post("/runs", json={}).status_code == 422

    time.sleep(0.5)
    assert server.api.get(f"/runs/{waiting}").status_code == 200
