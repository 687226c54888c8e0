import pytest

from tests.app.accounts.people import Someone, newcomer
from tests.lab_server import LabServer


@pytest.fixture
def member(guarded: LabServer) -> Someone:
    return newcomer(guarded)


@pytest.fixture
def other(guarded: LabServer) -> Someone:
    return newcomer(guarded)
