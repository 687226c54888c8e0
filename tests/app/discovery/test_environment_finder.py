from pathlib import Path

import pytest

from app.core.errors import UnknownEnvironmentError
from app.discovery.environment_finder import EnvironmentFinder
from app.protocol import messages
from app.workers.local_worker import LocalWorker
from app.workers.pool import WorkerPool
from storage.files.lab_folder import LabFolder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Workers that know nothing, and what they were asked."""
    orders: list[bytes] = []

    async def start(*_: object) -> None: ...

    async def receive(_: LocalWorker) -> messages.NotDescribed:
        return messages.NotDescribed(is_known=False, why="")

    monkeypatch.setattr(WorkerPool, "_check", lambda *_: None)
    monkeypatch.setattr(LocalWorker, "start", start)
    monkeypatch.setattr(LocalWorker, "receive", receive)
    monkeypatch.setattr(LocalWorker, "send", lambda _, order: orders.append(order))
    monkeypatch.setattr(LocalWorker, "kill", lambda _: None)
    monkeypatch.setattr(LocalWorker, "wait", start)
    return orders


@pytest.fixture
def finder(tmp_path: Path) -> EnvironmentFinder:
    return EnvironmentFinder(LabFolder(tmp_path), WorkerPool(memory_mb=1_000, side_slots=0))


async def test_what_is_not_there_is_looked_for_once(
    finder: EnvironmentFinder, asked: list[bytes]
) -> None:
    for env_id in ("Nothing-v0", "Nothing-v0", "Other-v0"):
        with pytest.raises(UnknownEnvironmentError, match=env_id):
            await finder.find(env_id)

    assert len(asked) == 2


async def test_nobody_looks_for_who_may_not_ask(
    finder: EnvironmentFinder, asked: list[bytes]
) -> None:
    with pytest.raises(UnknownEnvironmentError):
        await finder.find("Nothing-v0", may_ask=False)

    assert (await finder.find("CartPole-v1", may_ask=False)).id == "CartPole-v1"
    assert asked == []
