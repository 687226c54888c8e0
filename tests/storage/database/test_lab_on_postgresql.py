from collections.abc import Callable

import pytest

from tests.app.accounts.users import ApiUser
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
    user = ApiUser(lab, "ada@example.org").register()
    run_id = user.create_run(tags=["first"])

    stopped = user.api.post(f"/runs/{run_id}/stop").json()

    assert stopped["status"] == "stopped"
    page = user.api.get("/runs", params={"tag": "first", "q": "cart", "sort": "timesteps"})
    assert [run["id"] for run in page.json()["items"]] == [run_id]
    assert user.api.get(f"/runs/{run_id}/events").json()["items"][-1]["event_type"] == "created"
    assert user.api.delete(f"/runs/{run_id}").status_code == 204
    assert not (lab.folder / "lab.db").exists()
