"""The doctor in a real lab: real trainings, the API, the log, a restart."""

from typing import Any

import pytest

from tests.lab_server import CALM, LabServer, wait_until

pytestmark = pytest.mark.slow

NEVER_LEARNS = {
    "algorithm": "DQN",
    "total_timesteps": 6_000,
    "seed": 1,
    "hyperparameters": {"learning_starts": 50_000},
}
# The learning rate is much too high; the rest leaves the processor to others.
JUMPS: dict[str, Any] = {
    "total_timesteps": 50_000_000,
    "seed": 1,
    "hyperparameters": {
        **{"learning_rate": 0.5, "n_steps": 64, "batch_size": 64, "n_epochs": 4},
        "net_arch": [16],
    },
    "reward_code": CALM.format(seconds=0.0001),
}


@pytest.fixture(scope="module")
def never_learned(server: LabServer) -> str:
    """The id of a run that ended before it began to learn."""
    return str(server.train(**NEVER_LEARNS)["id"])


def insights(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    answer = lab.api.get(f"/runs/{run_id}/insights")
    assert answer.status_code == 200, answer.text
    assert answer.json()["next"] is None
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def insight_events(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    items = lab.api.get(f"/runs/{run_id}/events", params={"limit": 200}).json()["items"]
    return [event for event in items if event["event_type"] == "insight"]


def test_a_run_that_never_learns_is_told_so_once_and_in_red(
    server: LabServer, never_learned: str
) -> None:
    found = insights(server, never_learned)

    first = found[0]
    assert first["code"] == "learning_not_started"
    assert first["severity"] == "warning"
    assert first["change"] == {"hyperparameters": {"learning_starts": 300}}
    assert set(first["evidence"]) == {"metric", "window", "numbers"}
    assert 0 < first["at"] <= 6_000
    events = [
        event for event in insight_events(server, never_learned) if event["level"] == "warning"
    ]
    codes = [event["data"]["code"] for event in events]
    assert codes.count("learning_not_started") == 1
    assert server.messages(never_learned)[-1].startswith("Training complete")


def test_an_applied_change_makes_a_run_that_is_well(server: LabServer, never_learned: str) -> None:
    change = insights(server, never_learned)[0]["change"]
    hyperparameters = {**NEVER_LEARNS["hyperparameters"], **change["hyperparameters"]}  # type: ignore[dict-item]

    better = server.train(**{**NEVER_LEARNS, "hyperparameters": hyperparameters})

    codes = [insight["code"] for insight in insights(server, better["id"])]
    assert "learning_not_started" not in codes
    assert better["updates"] > 0


def test_a_learning_rate_that_is_too_high_is_found_while_it_trains(server: LabServer) -> None:
    run = server.create(**JUMPS, start=True)

    def jumps() -> bool:
        return "policy_jumps" in {one["code"] for one in insights(server, run["id"])}

    wait_until(jumps, within=90)
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")

    warned = {event["data"]["code"] for event in insight_events(server, run["id"])}
    assert "policy_jumps" in warned


def test_a_healthy_run_gets_no_warning(server: LabServer) -> None:
    run = server.train(preset="fast", total_timesteps=60_000, seed=3)

    found = insights(server, run["id"])

    assert [one["code"] for one in found if one["severity"] in {"warning", "error"}] == []
    assert found


def test_a_restart_shows_the_same_and_tells_nothing_twice(
    server: LabServer, never_learned: str
) -> None:
    before = insights(server, never_learned)
    server.terminate()
    server.restart()

    assert insights(server, never_learned) == before
    events = insight_events(server, never_learned)
    assert len(events) == len({event["message"] for event in events})


def test_a_run_without_metrics_has_no_insights(server: LabServer) -> None:
    run = server.create()

    assert insights(server, run["id"]) == []


def test_stopping_updates_early_is_measured(server: LabServer) -> None:
    wish = {"total_timesteps": 16_384, "hyperparameters": {"target_kl": 0.0001}, "seed": 1}
    run = server.train(**wish)

    lines = server.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    epochs = [line["epochs"] for line in lines if "epochs" in line]

    assert epochs
    assert all(0 < one <= 10 for one in epochs)
    assert min(epochs) < 10
