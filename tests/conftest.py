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

# As in workers: several threads on tiny tensors only contend. Must be set before NumPy loads.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# During imports there is nothing to collect.
gc.disable()

from tests.app.accounts.users import ApiUser  # noqa: E402
from tests.lab_server import LabServer  # noqa: E402

_LONGEST_FILES = ("test_looks", "test_browser", "test_reward_lab", "test_setup")
"""Browser test files that take more than 90 s each while others run in parallel."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run browser tests last: Playwright keeps an event loop running, which breaks other tests.

    The longest browser files come first, so that none of them runs alone at the end. Other files
    are taken alternately from both ends: the first wait for servers, the last compute.
    """
    files = list(dict.fromkeys(item.path for item in items))
    turns = {path: min(at, len(files) - 1 - at) for at, path in enumerate(files)}

    def place(item: pytest.Item) -> tuple[bool, bool, int]:
        is_browser = item.get_closest_marker("browser") is not None
        is_short = is_browser and item.path.stem not in _LONGEST_FILES
        return is_browser, is_short, 0 if is_browser else turns[item.path]

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Exclude modules and tests from garbage collection: they live as long as the process."""
    gc.collect()
    gc.freeze()
    gc.enable()


def free_port() -> int:
    """Return a free port below the ephemeral range, so that no client takes it meanwhile."""
    while True:
        port = 15_000 + secrets.randbelow(17_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port


@pytest.fixture(autouse=True)
def runs_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test its own lab folder and port, and hide pytest's command-line flags."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("RL_LAB_RUNS", str(folder))
    monkeypatch.setenv("RL_LAB_PORT", str(free_port()))
    monkeypatch.setenv("RL_LAB_HOSTS", "test")
    monkeypatch.setenv("RL_LAB_CLIPS", "0")
    monkeypatch.setattr(sys, "argv", ["main.py"])
    return folder


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A real server process shared by all tests; tests that damage it start their own."""
    folder = tmp_path_factory.mktemp("shared-lab")
    # A closed page keeps its preview briefly; with more slots the next test still gets one.
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_VIEWERS="8") as lab:
        yield lab


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server of one test file, whose tests may damage it; each leaves it running."""
    settings = {"RL_LAB_WORKER_SILENCE": "5", "RL_LAB_WORKER_MEMORY": "512"}
    folder = tmp_path_factory.mktemp("own-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="2", **settings) as lab:
        yield lab


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server with accounts shared by all tests; nothing trains on it."""
    settings = {"RL_LAB_AUTH": "on", "RL_LAB_BCRYPT_COST": "4"}
    folder = tmp_path_factory.mktemp("guarded-lab")
    with LabServer(folder, free_port(), **settings) as lab:
        ApiUser(lab, "root@example.org").register(name="Root")
        yield lab


@pytest.fixture(scope="session")
def admin(guarded: LabServer) -> ApiUser:
    root = ApiUser(guarded, "root@example.org")
    assert root.login().status_code == 200
    assert root.api.patch("/admin/lab", json={"runs_at_once": 0}).status_code == 200
    return root


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., LabServer]]:
    """Start servers in the folder of this test; they end with it."""
    started: list[LabServer] = []

    def start(folder: Path | None = None, **settings: Any) -> LabServer:
        settings = {"RL_LAB_WORKERS": "1", **settings}
        lab = LabServer(folder or tmp_path / "lab", free_port(), **settings)
        started.append(lab)
        return lab.start()

    yield start
    for lab in started:
        lab.kill()
