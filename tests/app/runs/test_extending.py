"""Extending a run: what happens to schedules and exploration."""

import json
from typing import Any

import pytest

from tests.exact_runs import assert_same_runs, lines_of
from tests.lab_server import SLEEPING_REWARD, LabServer

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 3, "net_arch": [16]}
ENDING = {**SMALL, "learning_rate": "1e-3 -> 2e-4", "clip_range": "0.3 -> 0.1"}
QUICK_DQN = {
    "learning_starts": 100,
    "net_arch": [16],
    "batch_size": 32,
    "learning_rate": "1e-3 -> 0",
    "exploration_fraction": 0.9,
    "exploration_final_eps": 0.05,
}
# Slow enough to report the rate midway.
SLOW_DQN = {
    "algorithm": "DQN",
    "hyperparameters": QUICK_DQN,
    "total_timesteps": 400,
    "n_envs": 1,
    "reward_code": SLEEPING_REWARD.format(seconds=0.001),
}


def extend(lab: LabServer, run_id: str, **changes: Any) -> dict[str, Any]:
    answer = lab.api.patch(f"/runs/{run_id}", json=changes)
    assert answer.status_code == 200, answer.text
    run: dict[str, Any] = answer.json()
    return run


def train_on(lab: LabServer, run_id: str) -> dict[str, Any]:
    assert lab.api.post(f"/runs/{run_id}/resume").status_code == 202
    run = lab.wait_for(run_id, "completed", "failed")
    assert run["error"] is None
    return run


def values_after(lab: LabServer, run_id: str, name: str, step: int) -> set[float]:
    lines = lines_of(lab, run_id)
    return {line[name] for line in lines if line["timesteps"] > step and name in line}


@pytest.mark.parametrize("engine", ["fast", "sb3"])
def test_an_extended_run_holds_the_last_values_of_its_schedules(
    server: LabServer, engine: str
) -> None:
    run = server.train(hyperparameters=ENDING, total_timesteps=512, n_envs=1, engine=engine)

    extended = extend(server, run["id"], total_timesteps=1_024)
    ended = train_on(server, run["id"])

    assert extended["config"]["schedule_timesteps"] == 512
    assert values_after(server, run["id"], "learning_rate", 512) == {2e-4}
    assert ended["timesteps"] == 1_024
    assert ended["progress"] == 1.0
    assert lines_of(server, run["id"])[-1]["progress"] == 1.0
    config = json.loads((server.folder / run["id"] / "config.json").read_text())
    (change,) = config["changes"]
    assert change["timesteps"] == 512
    assert (change["total_timesteps"], change["schedules"]) == (1_024, "hold")
    assert (
        "The budget is now 1,024 steps. Schedules end at step 512 as before and keep their last "
        "value: learning_rate 0.0002, clip_range 0.1."
    ) in server.messages(run["id"])


@pytest.mark.parametrize("engine", ["fast", "sb3"])
def test_stretched_schedules_run_over_the_new_budget(server: LabServer, engine: str) -> None:
    run = server.train(hyperparameters=ENDING, total_timesteps=512, n_envs=1, engine=engine)

    extended = extend(server, run["id"], total_timesteps=1_024, schedules="stretch")
    train_on(server, run["id"])

    assert extended["config"]["schedule_timesteps"] is None
    rates = values_after(server, run["id"], "learning_rate", 512)
    assert max(rates) == pytest.approx(1e-3 - 8e-4 * 576 / 1_024)
    assert min(rates) == pytest.approx(2e-4)
    assert (
        "The budget is now 1,024 steps. Schedules now end at step 1,024: learning_rate goes from "
        "0.0002 to 0.0006, clip_range goes from 0.1 to 0.2."
    ) in server.messages(run["id"])


@pytest.mark.parametrize("engine", ["fast", "sb3"])
def test_exploration_holds_its_last_value_however_often_a_run_is_extended(
    server: LabServer, engine: str
) -> None:
    run = server.train(**SLOW_DQN, engine=engine)

    for total in (600, 1_200):
        extended = extend(server, run["id"], total_timesteps=total)
    train_on(server, run["id"])

    assert extended["config"]["schedule_timesteps"] == 400
    assert values_after(server, run["id"], "exploration_rate", 400) == {0.05}
    assert values_after(server, run["id"], "learning_rate", 400) == {0.0}


def test_stretched_exploration_begins_again(server: LabServer) -> None:
    run = server.train(**SLOW_DQN)

    extend(server, run["id"], total_timesteps=800)
    extend(server, run["id"], total_timesteps=2_400, schedules="stretch")
    train_on(server, run["id"])

    rates = values_after(server, run["id"], "exploration_rate", 400)
    assert max(rates) > 0.1
    assert min(rates) == 0.05


@pytest.mark.parametrize(
    ("algorithm", "hyperparameters", "engine"),
    [("PPO", ENDING, "sb3"), ("DQN", QUICK_DQN, "fast")],
)
def test_a_run_extended_and_stopped_while_it_trains_is_bit_identical_to_one_extended_later(
    server: LabServer, algorithm: str, hyperparameters: dict[str, Any], engine: str
) -> None:
    options = {
        "algorithm": algorithm,
        "hyperparameters": hyperparameters,
        "engine": engine,
        "total_timesteps": 768,
        "n_envs": 1,
        "seed": 4,
    }
    later = server.train(**options, reward_code=SLEEPING_REWARD.format(seconds=0))
    extend(server, later["id"], total_timesteps=1_536)
    train_on(server, later["id"])

    run = server.create(**options, reward_code=SLEEPING_REWARD.format(seconds=0.002), start=True)
    server.wait_for_steps(run["id"], 100)
    extended = extend(server, run["id"], total_timesteps=1_536)
    server.wait_for_steps(run["id"], 900)
    server.api.post(f"/runs/{run['id']}/stop")
    stopped = server.wait_for(run["id"], "stopped", "completed")
    train_on(server, run["id"])

    assert stopped["status"] == "stopped"
    assert extended["config"]["changes"][0]["timesteps"] < 768
    assert extended["config"]["schedule_timesteps"] == 768
    assert_same_runs(server, later["id"], run["id"], algorithm)


def test_the_schedules_of_a_run_that_has_not_begun_belong_to_its_whole_budget(
    server: LabServer,
) -> None:
    run = server.create(hyperparameters=ENDING, total_timesteps=512)

    changed = extend(server, run["id"], total_timesteps=1_024)

    assert changed["config"]["schedule_timesteps"] is None


def test_what_happens_to_schedules_needs_a_budget_and_a_known_word(server: LabServer) -> None:
    run = server.create(hyperparameters=ENDING, total_timesteps=512)
    address = f"/runs/{run['id']}"

    alone = server.api.patch(address, json={"schedules": "hold"})
    unknown = server.api.patch(address, json={"schedules": "keep", "total_timesteps": 1_024})

    assert alone.status_code == unknown.status_code == 422
    assert alone.json()["error"]["field"] == unknown.json()["error"]["field"] == "schedules"
    assert "Give total_timesteps, too" in alone.json()["error"]["message"]
    assert "hold" in unknown.json()["error"]["message"]
