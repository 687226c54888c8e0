import pytest

from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_ENV = "Acrobot-v1"


def test_versions_are_numbered_and_unchanged_code_adds_none(server: LabServer) -> None:
    codes = ["a = 1", "a = 2", "a = 2", "a = 1"]
    answers = [
        server.api.post("/reward/versions", json={"env_id": _ENV, "code": code}) for code in codes
    ]
    assert [answer.status_code for answer in answers] == [201] * 4
    assert [answer.json()["version"] for answer in answers] == [1, 2, 2, 3]

    listed = server.api.get("/reward/versions", params={"env_id": _ENV}).json()["items"]
    assert [(one["version"], one["code"]) for one in listed] == [
        (3, "a = 1"),
        (2, "a = 2"),
        (1, "a = 1"),
    ]
    others = server.api.get("/reward/versions", params={"env_id": "Pendulum-v1"}).json()
    assert others["items"] == []


def test_only_the_newest_thirty_versions_are_kept(server: LabServer) -> None:
    for number in range(32):
        body = {"env_id": "MountainCar-v0", "code": f"a = {number}"}
        assert server.api.post("/reward/versions", json=body).status_code == 201

    listed = server.api.get("/reward/versions", params={"env_id": "MountainCar-v0"}).json()
    assert [one["version"] for one in listed["items"]] == list(range(32, 2, -1))


def test_nothing_is_saved_for_an_unknown_environment(server: LabServer) -> None:
    answer = server.api.post("/reward/versions", json={"env_id": "CartPole-v9", "code": "a"})

    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "unknown_environment"


def test_code_is_formatted_or_refused_with_a_message(server: LabServer) -> None:
    answer = server.api.post("/reward/format", json={"code": "x=1"})
    assert answer.json() == {"code": "x = 1\n"}

    answer = server.api.post("/reward/format", json={"code": "x ="})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "Not formatted: fix the errors first."
