from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.analysis.comparison.differences import Difference, code_difference, differences
from app.analysis.comparison.entries import (
    Entry,
    fold,
    group_entry,
    read_keys,
    run_entry,
    unfold,
    with_distinct_names,
)
from app.analysis.comparison.numbers import numbers
from app.core.errors import InputError
from storage.records.runs import Progress, RunRecord, RunStatus
from tests.stored_configs import stored_config

CONFIG = stored_config(seed=1_000, hyperparameters={"learning_rate": 0.0003, "net_arch": [64, 64]})


def run(name: str = "a", *, group_id: str | None = None, **config: Any) -> RunRecord:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return RunRecord(
        id=name,
        name=name,
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config={**CONFIG, **config},
        created_at=now,
        updated_at=now,
        group_id=group_id,
    )


def compared(*runs: RunRecord) -> list[Difference]:
    return differences([run_entry(one) for one in runs])


def test_only_differences_are_listed_including_nested_ones() -> None:
    other = {"learning_rate": 0.001, "net_arch": [64, 64]}

    assert compared(run(), run(hyperparameters=other)) == [
        Difference("hyperparameters.learning_rate", ["0.0003", "0.001"])
    ]
    assert compared(run(), run()) == []


def test_values_written_alike_are_no_difference_and_schedules_are_written_as_typed() -> None:
    decaying = {"learning_rate": {"points": [[0.0, 0.003], [1.0, 0.0]]}, "target_kl": None}
    other = {"learning_rate": 0.001}

    assert compared(run(hyperparameters=decaying), run(hyperparameters=other)) == [
        Difference("hyperparameters.learning_rate", ["0.003 -> 0", "0.001"])
    ]
    assert compared(run(wrappers={"randomize": {}}), run(wrappers={"randomize": {}})) == []


def test_wrappers_seeds_and_changes_during_training_count_too() -> None:
    listed = compared(
        run(), run(seed=1_001, wrappers={"frame_stack": 4}, changes=[{"timesteps": 5}])
    )

    assert listed == [
        Difference("seed", ["1000", "1001"]),
        Difference("wrappers.frame_stack", ["1", "4"]),
        Difference("changed while training", [None, "once"]),
    ]


def test_reward_code_is_summarized_and_its_diff_can_be_read() -> None:
    before = run("a", reward_code="def reward():\n    return 1\n")
    after = run("b", reward_code="def reward():\n    return 2\n")

    (difference,) = compared(before, after)
    assert difference.setting == "reward_code"
    assert all(
        value is not None and value.startswith("custom, 2 lines") for value in difference.values
    )
    diff = code_difference(run_entry(before), run_entry(after)).splitlines()
    assert "-    return 1" in diff
    assert "+    return 2" in diff
    assert code_difference(run_entry(before), run_entry(before)) == ""
    (plain,) = compared(run(reward_code=None), before)
    assert plain.values[0] == "the environment's"


def test_seeds_fold_into_their_group_and_unfold_again() -> None:
    members = [run(f"x, seed {seed}", group_id="g1", seed=seed) for seed in (1, 2)]
    entries: list[Entry] = [run_entry(members[0]), run_entry(run("other")), run_entry(members[1])]
    group = group_entry("g1", members)

    assert fold(entries) == ["g:g1", "other"]
    assert group.name == "x, 2 seeds"
    assert unfold([group, run_entry(run("other"))], "g:g1") == ["x, seed 1", "x, seed 2", "other"]
    assert fold([run_entry(members[0])]) == [members[0].id]


def test_runs_of_the_same_name_are_distinguished_by_seed_or_id() -> None:
    first, second = run("aaaaaaaa", seed=1), run("bbbbbbbb", seed=2)
    twins = [run_entry(replace(one, name="PPO on CartPole-v1")) for one in (first, second)]
    repeated = [replace(one, runs=(first,)) for one in twins]

    names = [one.name for one in with_distinct_names([*twins, run_entry(run("other"))])]
    same_seed = [one.name for one in with_distinct_names(repeated)]

    assert names == ["PPO on CartPole-v1, seed 1", "PPO on CartPole-v1, seed 2", "other"]
    assert same_seed == ["PPO on CartPole-v1, aaaaaa", "PPO on CartPole-v1, bbbbbb"]


def test_the_duration_of_a_group_is_the_mean_of_its_seeds() -> None:
    seeds = [replace(run(f"x, seed {s}", seed=s), progress=Progress(elapsed_s=s)) for s in (2, 4)]

    assert numbers(group_entry("g1", seeds), {}, {}).elapsed_s == 3


def test_a_url_names_each_run_once_and_at_most_20() -> None:
    assert read_keys(" a,b,,a , g:c") == ["a", "b", "g:c"]
    with pytest.raises(InputError, match="at most 20") as refused:
        read_keys(",".join(map(str, range(21))))
    assert refused.value.field == "runs"
