import pytest

from tests.app.accounts.users import ApiUser, new_user
from tests.lab_server import LabServer


@pytest.fixture
def member(guarded: LabServer) -> ApiUser:
    return new_user(guarded)


@pytest.fixture
def other(guarded: LabServer) -> ApiUser:
    return new_user(guarded)
