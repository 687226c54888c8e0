from pathlib import Path

import pytest

from app.core.errors import UnknownEnvironmentError
from app.discovery.environment_finder import EnvironmentFinder
from app.protocol import messages
from app.workers.local_worker import LocalWorker
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The requests to workers that know no environment."""
    requests: list[bytes] = []

    async def start(*_: object) -> None: ...

    async def receive(_: LocalWorker) -> messages.NotDescribed:
        return messages.NotDescribed(is_known=False, why="")

    monkeypatch.setattr(WorkerPool, "_check", start)
    monkeypatch.setattr(LocalWorker, "start", start)
    monkeypatch.setattr(LocalWorker, "receive", receive)
    monkeypatch.setattr(LocalWorker, "send", lambda _, request: requests.append(request))
    monkeypatch.setattr(LocalWorker, "kill", lambda _: None)
    monkeypatch.setattr(LocalWorker, "wait", start)
    return requests


@pytest.fixture
def finder(tmp_path: Path) -> EnvironmentFinder:
    return EnvironmentFinder(LabFolder(tmp_path), WorkerPool(memory_mb=1_000, side_slots=0))


async def test_an_unknown_environment_is_searched_once(
    finder: EnvironmentFinder, requests: list[bytes]
) -> None:
    for env_id in ("Nothing-v0", "Nothing-v0", "Other-v0"):
        with pytest.raises(UnknownEnvironmentError, match=env_id):
            await finder.find(env_id)

    assert len(requests) == 2


async def test_no_worker_is_asked_without_permission(
    finder: EnvironmentFinder, requests: list[bytes]
) -> None:
    with pytest.raises(UnknownEnvironmentError):
        await finder.find("Nothing-v0", ask_worker=False)

    assert (await finder.find("CartPole-v1", ask_worker=False)).id == "CartPole-v1"
    assert requests == []
