from datetime import UTC, datetime
from typing import Any

import pytest

from app.analysis.comparison.entries import group_entry, run_entry
from app.analysis.comparison.methods import method_name, methods, mixed_settings
from storage.records.runs import RunRecord, RunStatus
from tests.stored_configs import stored_config


def run(name: str, env_id: str = "CartPole-v1", **values: Any) -> RunRecord:
    now = datetime.now(UTC)
    return RunRecord(
        id=f"{name} {values}",
        name=name,
        env_id=env_id,
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=stored_config(env_id=env_id, **values),
        created_at=now,
        updated_at=now,
        group_id="one",
    )


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("PPO on CartPole-v1", {}, "PPO"),
        ("PPO on CartPole-v1, seed 7", {}, "PPO"),
        ("PPO on CartPole-v1, seed 7", {"preset": "fast"}, "PPO, Fast"),
        ("PPO, Fast, seed 7", {"preset": "fast"}, "PPO, Fast"),
        ("CartPole-v1: high lr, seed 7", {}, "PPO, high lr"),
        ("high lr (CartPole-v1)", {}, "PPO, high lr"),
    ],
)
def test_a_method_is_the_algorithm_preset_and_name_without_environment_and_seed(
    name: str, values: dict[str, Any], expected: str
) -> None:
    assert method_name(run_entry(run(name, **values))) == expected
    assert method_name(group_entry("one", [run(name, **values)])) == expected


def test_entries_of_one_method_are_matched_across_environments() -> None:
    entries = [
        run_entry(run("PPO on CartPole-v1")),
        run_entry(run("other", "Acrobot-v1")),
        run_entry(run("PPO on Acrobot-v1", "Acrobot-v1")),
    ]

    plain, other = methods(entries)

    assert plain.name == "PPO"
    assert plain.on("Acrobot-v1") == [entries[2]]
    assert other.on("CartPole-v1") == []


def test_runs_of_one_method_that_differ_in_more_than_the_seed_are_found() -> None:
    (same,) = methods([run_entry(run("a", seed=1)), run_entry(run("a", seed=2))])
    (mixed,) = methods([run_entry(run("a", seed=1)), run_entry(run("a", seed=2, n_envs=4))])

    assert mixed_settings(same) == []
    assert mixed_settings(mixed) == ["CartPole-v1"]
