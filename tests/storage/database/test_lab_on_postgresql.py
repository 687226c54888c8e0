from collections.abc import Callable

import pytest

from tests.app.accounts.people import Someone
from tests.lab_server import LabServer
from tests.storage.conftest import empty

pytestmark = pytest.mark.slow


def test_a_whole_lab_works_on_postgresql(
    postgresql_server: str, start_server: Callable[..., LabServer]
) -> None:
    empty(postgresql_server)
    lab = start_server(
        RL_LAB_DATABASE=postgresql_server,
        RL_LAB_AUTH="on",
        RL_LAB_BCRYPT_COST="4",
    )
    person = Someone(lab, "ada@example.org").register()
    run_id = person.create_run(tags=["first"])

    stopped = person.api.post(f"/runs/{run_id}/stop").json()

    assert stopped["status"] == "stopped"
    found = person.api.get("/runs", params={"tag": "first", "q": "cart", "sort": "timesteps"})
    assert [run["id"] for run in found.json()["items"]] == [run_id]
    assert person.api.get(f"/runs/{run_id}/events").json()["items"][-1]["event_type"] == "created"
    assert person.api.delete(f"/runs/{run_id}").status_code == 204
    assert not (lab.folder / "lab.db").exists()
