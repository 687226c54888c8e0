from datetime import UTC, datetime
from typing import Any

import pytest

from app.analysis.comparison.differences import differences
from app.analysis.comparison.entries import run_entry
from app.core.errors import UnreadableConfigError
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.run_config.stored import config_of, environment_of, readable_config
from storage.database import runs
from storage.database.database import open_database
from storage.files.lab_folder import LabFolder
from storage.records.runs import RunRecord, RunStatus
from tests.lab_server import LabServer
from tests.stored_configs import stored_config

WHOLE = RunConfig.from_request(RunRequest(env_id="FrozenLake-v1", algorithm="PPO", seed=1))


def run_with(config: dict[str, Any], env_id: str = "CartPole-v1") -> RunRecord:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return RunRecord(
        id="a",
        name="a",
        env_id=env_id,
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=config,
        created_at=now,
        updated_at=now,
    )


def test_a_stored_config_is_read_back() -> None:
    run = run_with(WHOLE.model_dump(mode="json"), "FrozenLake-v1")

    assert config_of(run) == WHOLE
    assert environment_of(run) == WHOLE.environment


def test_options_missing_in_an_earlier_version_have_their_default_and_count_as_equal() -> None:
    earlier = run_with(stored_config())
    today = run_with(config_of(earlier).model_dump(mode="json"))

    assert config_of(earlier).engine_used == "sb3"
    assert config_of(earlier).wrappers.frame_stack == 1
    assert differences([run_entry(earlier), run_entry(today)]) == []


@pytest.mark.parametrize("broken", [{"of_a_later_version": 1}, {"seed": "many"}, {"n_envs": None}])
def test_an_unreadable_config_is_reported_and_its_environment_is_still_known(
    broken: dict[str, Any],
) -> None:
    run = run_with(stored_config(**broken))

    message = f"run a can't be read .*{next(iter(broken))}"
    with pytest.raises(UnreadableConfigError, match=message) as refused:
        config_of(run)
    assert "Remove it" not in str(refused.value)
    assert readable_config(run) is None
    assert environment_of(run).id == "CartPole-v1"


def test_an_unknown_environment_option_gives_the_environment_with_its_defaults() -> None:
    run = run_with(stored_config(env_kwargs={"slope": 3}))

    assert environment_of(run).solved_threshold == 475


@pytest.mark.slow
def test_a_run_with_an_unreadable_config_is_listed_with_the_others(server: LabServer) -> None:
    readable, unreadable = server.create()["id"], server.create()["id"]
    database = open_database(LabFolder(server.folder).database)
    later = {"of_a_later_version": 1, "total_timesteps": None, "engine_used": "later"}
    runs.merge_config(unreadable, later)
    database.close()

    listed = server.api.get("/runs").json()["items"]
    compared = server.api.get("/compare", params={"runs": f"{readable},{unreadable}"})
    started = server.api.post(f"/runs/{unreadable}/start")

    assert {run["id"]: run["engine"] for run in listed}[unreadable] == "later"
    configs = {run["id"]: run["config"] for run in listed}
    assert configs[readable]
    assert configs[unreadable]["of_a_later_version"] == 1
    assert len(compared.json()["entries"]) == 2
    assert started.status_code == 422
    assert started.json()["error"]["code"] == "unreadable_config"
    for form in ("json", "text", "html"):
        assert server.api.get(f"/runs/{unreadable}/report?format={form}").status_code == 200
    for page in ("/", "/runs", f"/runs/{unreadable}", f"/compare?runs={readable},{unreadable}"):
        assert server.api.get(f"{server.url}{page}").status_code == 200, page
