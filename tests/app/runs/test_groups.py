from datetime import UTC, datetime

import pytest

from app.core.errors import InputError
from app.run_config.request import RunRequest
from app.run_config.seeds import one_request_per_seed
from app.runs.groups import group_curve, group_name, group_statistics
from storage.records.runs import RunRecord, RunStatus


def request(**options: object) -> RunRequest:
    return RunRequest.model_validate({"env_id": "CartPole-v1", "algorithm": "PPO", **options})


def history(*points: tuple[int, float]) -> list[dict[str, float]]:
    return [{"timesteps": step, "mean_reward": reward} for step, reward in points]


def test_a_number_of_seeds_counts_up_from_the_given_seed() -> None:
    seeds = [single.seed for single in one_request_per_seed(request(seeds=3, seed=7))]

    assert seeds == [7, 8, 9]


def test_seeds_can_be_listed_and_are_part_of_the_names() -> None:
    singles = list(one_request_per_seed(request(seeds=[5, 1], name="mine")))

    assert [single.seed for single in singles] == [5, 1]
    assert [single.name for single in singles] == ["mine, seed 5", "mine, seed 1"]
    assert all(single.seeds is None for single in singles)
    assert next(one_request_per_seed(request(seeds=[4]))).name == "PPO on CartPole-v1, seed 4"


@pytest.mark.parametrize("seeds", [0, -1, 51, True, "3", [], [1, 1], [1, "2"], [-1], [2**40], {}])
def test_invalid_seeds_are_refused(seeds: object) -> None:
    with pytest.raises(InputError, match="seeds must be") as refused:
        list(one_request_per_seed(request(seeds=seeds)))

    assert refused.value.field == "seeds"


def test_the_curve_of_a_group_uses_the_last_value_of_each_run_up_to_its_last_step() -> None:
    curve = group_curve([history((10, 1.0), (100, 3.0)), history((20, 5.0), (60, 5.0))])

    by_step = {point.timesteps: point for point in curve}
    assert min(by_step) == 20
    assert by_step[20].iqm == 3.0
    assert by_step[20].seeds == 2
    assert by_step[100].iqm == 3.0
    assert by_step[100].seeds == 1
    assert all(point.low <= point.iqm <= point.high for point in curve)


def test_the_interquartile_mean_excludes_the_extremes() -> None:
    statistics = group_statistics([{"mean_reward": value} for value in (0.0, 10.0, 12.0, 1_000.0)])

    assert statistics is not None
    assert statistics.iqm == 11.0
    assert statistics.median == 11.0
    assert statistics.ci95[0] <= 11.0 <= statistics.ci95[1]


def test_there_are_no_statistics_without_measurements() -> None:
    assert group_statistics([{}, {"mean_reward": None}]) is None
    assert group_curve([[], []]) == []


def test_one_seed_has_no_standard_deviation() -> None:
    statistics = group_statistics([{"mean_reward": 4.0}])

    assert statistics is not None
    assert statistics.std is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["Mine, seed 7", "Mine, seed 8"], "Mine"), (["Mine, seed 7", "x"], "Mine"), (["x"], "x")],
)
def test_a_group_has_the_name_of_its_first_run_without_the_seed(
    names: list[str], expected: str
) -> None:
    now = datetime.now(UTC)
    members = [
        RunRecord(
            id=name,
            name=name,
            env_id="CartPole-v1",
            algorithm="PPO",
            status=RunStatus.CREATED,
            config={},
            created_at=now,
            updated_at=now,
        )
        for name in names
    ]

    assert group_name(members) == expected
