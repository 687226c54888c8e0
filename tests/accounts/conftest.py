from collections.abc import Iterator

import pytest

from tests.accounts.people import Someone, newcomer
from tests.conftest import free_port
from tests.lab_server import LabServer


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A server with accounts that tests share; nothing trains on it."""
    settings = {"RL_LAB_AUTH": "on", "RL_LAB_BCRYPT_COST": "4", "RL_LAB_WARM_WORKERS": "0"}
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
def member(guarded: LabServer) -> Someone:
    return newcomer(guarded)


@pytest.fixture
def other(guarded: LabServer) -> Someone:
    return newcomer(guarded)
