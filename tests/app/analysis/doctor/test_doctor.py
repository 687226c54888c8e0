"""The doctor in a real lab: real training runs, the API, the log, a restart."""

from typing import Any

import pytest

from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

NEVER_LEARNS = {
    "algorithm": "DQN",
    "total_timesteps": 6_000,
    "seed": 1,
    "hyperparameters": {"learning_starts": 50_000},
}
# The learning rate is much too high; the other settings keep the CPU load low.
JUMPS: dict[str, Any] = {
    "total_timesteps": 50_000_000,
    "seed": 1,
    "hyperparameters": {
        **{"learning_rate": 0.5, "n_steps": 64, "batch_size": 64, "n_epochs": 4},
        "net_arch": [16],
    },
    "reward_code": SLEEPING_REWARD.format(seconds=0.0001),
}


@pytest.fixture(scope="module")
def never_learned(server: LabServer) -> str:
    """The id of a run that ended before learning started."""
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


def test_a_run_that_never_learns_gets_one_warning(server: LabServer, never_learned: str) -> None:
    first = insights(server, never_learned)[0]
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


def test_an_applied_change_resolves_the_insight(server: LabServer, never_learned: str) -> None:
    change = insights(server, never_learned)[0]["change"]
    hyperparameters = {**NEVER_LEARNS["hyperparameters"], **change["hyperparameters"]}  # type: ignore[dict-item]

    fixed = server.train(**{**NEVER_LEARNS, "hyperparameters": hyperparameters})

    codes = [insight["code"] for insight in insights(server, fixed["id"])]
    assert "learning_not_started" not in codes
    assert fixed["updates"] > 0


def test_a_learning_rate_that_is_too_high_is_detected_during_training(server: LabServer) -> None:
    run = server.create(**JUMPS, start=True)

    def is_detected() -> bool:
        return "policy_jumps" in {one["code"] for one in insights(server, run["id"])}

    wait_until(is_detected, within=90)
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")

    warned = {event["data"]["code"] for event in insight_events(server, run["id"])}
    assert "policy_jumps" in warned


def test_a_healthy_run_gets_no_warning(server: LabServer) -> None:
    run = server.train(preset="fast", total_timesteps=60_000, seed=3)

    shown = insights(server, run["id"])

    assert [one["code"] for one in shown if one["severity"] in {"warning", "error"}] == []
    assert shown


def test_a_restart_shows_the_same_insights_and_logs_none_twice(
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


def test_updates_that_stop_early_are_measured(server: LabServer) -> None:
    config = {"total_timesteps": 16_384, "hyperparameters": {"target_kl": 0.0001}, "seed": 1}
    run = server.train(**config)

    lines = server.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    epochs = [line["epochs"] for line in lines if "epochs" in line]

    assert epochs
    assert all(0 < one <= 10 for one in epochs)
    assert min(epochs) < 10
