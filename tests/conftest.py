import gc
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

# As in workers: several threads on tiny tensors only get in each other's way. Before NumPy.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# While everything is imported there is nothing to collect.
gc.disable()

from tests.app.accounts.people import Someone  # noqa: E402
from tests.lab_server import LabServer  # noqa: E402

_LONGEST = ("test_looks", "test_browser", "test_reward_lab", "test_setup")
"""Files of the browser that take over a minute and a half each, when others are beside them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the browser last: Playwright keeps an event loop running that others can't bear.

    Of its files the longest come first, so that nobody waits for one of them at the end. The others
    come in turns from both ends: first are those that wait for servers, last those that compute.
    """
    files = list(dict.fromkeys(item.path for item in items))
    turns = {path: min(at, len(files) - 1 - at) for at, path in enumerate(files)}

    def place(item: pytest.Item) -> tuple[bool, bool, int]:
        is_browser = item.get_closest_marker("browser") is not None
        is_short = is_browser and item.path.stem not in _LONGEST
        return is_browser, is_short, 0 if is_browser else turns[item.path]

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Never look at modules and tests again when memory is collected: they stay."""
    gc.collect()
    gc.freeze()
    gc.enable()


def free_port() -> int:
    """Return a port below those that systems give to clients: none of them takes it meanwhile."""
    while True:
        port = 15_000 + secrets.randbelow(17_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port


@pytest.fixture(autouse=True)
def runs_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test has a lab of its own, and none sees the flags of pytest."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("RL_LAB_RUNS", str(folder))
    monkeypatch.setenv("RL_LAB_PORT", str(free_port()))
    monkeypatch.setenv("RL_LAB_HOSTS", "test")
    monkeypatch.setenv("RL_LAB_CLIPS", "0")
    monkeypatch.setattr(sys, "argv", ["main.py"])
    return folder


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A real server process that tests share; those that harm it start their own."""
    folder = tmp_path_factory.mktemp("shared-lab")
    # A page that was left keeps its preview for a moment: the next test finds a place all the same.
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_VIEWERS="8") as lab:
        yield lab


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server of this file, whose tests may harm it; each leaves it running."""
    settings = {"RL_LAB_WORKER_SILENCE": "5", "RL_LAB_WORKER_MEMORY": "512"}
    folder = tmp_path_factory.mktemp("harmed-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="2", **settings) as lab:
        yield lab


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server with accounts that tests share; nothing trains on it."""
    settings = {"RL_LAB_AUTH": "on", "RL_LAB_BCRYPT_COST": "4"}
    folder = tmp_path_factory.mktemp("guarded-lab")
    with LabServer(folder, free_port(), **settings) as lab:
        Someone(lab, "root@example.org").register(name="Root")
        yield lab


@pytest.fixture(scope="session")
def admin(guarded: LabServer) -> Someone:
    root = Someone(guarded, "root@example.org")
    assert root.login().status_code == 200
    assert root.api.patch("/admin/lab", json={"runs_at_once": 0}).status_code == 200
    return root


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., LabServer]]:
    """Start servers of one's own, on the folder of this test; they end with it."""
    started: list[LabServer] = []

    def start(folder: Path | None = None, **settings: Any) -> LabServer:
        settings = {"RL_LAB_WORKERS": "1", **settings}
        lab = LabServer(folder or tmp_path / "lab", free_port(), **settings)
        started.append(lab)
        return lab.start()

    yield start
    for lab in started:
        lab.kill()
