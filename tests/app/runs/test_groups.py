import pytest

from app.core.errors import InputError
from app.run_config.config import RunRequest
from app.run_config.seeds import one_request_per_seed
from app.runs.groups import group_curve, group_statistics


def request(**wishes: object) -> RunRequest:
    return RunRequest.model_validate({"env_id": "CartPole-v1", "algorithm": "PPO", **wishes})


def history(*points: tuple[int, float]) -> list[dict[str, float]]:
    return [{"timesteps": step, "mean_reward": reward} for step, reward in points]


def test_a_number_of_seeds_counts_on_from_the_given_one() -> None:
    seeds = [single.seed for single in one_request_per_seed(request(seeds=3, seed=7))]

    assert seeds == [7, 8, 9]


def test_seeds_can_be_listed_and_show_in_the_names() -> None:
    singles = list(one_request_per_seed(request(seeds=[5, 1], name="mine")))

    assert [single.seed for single in singles] == [5, 1]
    assert [single.name for single in singles] == ["mine, seed 5", "mine, seed 1"]
    assert all(single.seeds is None for single in singles)
    assert next(one_request_per_seed(request(seeds=[4]))).name == "PPO on CartPole-v1, seed 4"


@pytest.mark.parametrize("seeds", [0, -1, 51, True, "3", [], [1, 1], [1, "2"], [-1], [2**40], {}])
def test_other_seeds_are_refused(seeds: object) -> None:
    with pytest.raises(InputError, match="seeds must be") as refused:
        list(one_request_per_seed(request(seeds=seeds)))

    assert refused.value.field == "seeds"


def test_a_curve_holds_each_run_s_last_value_and_only_as_far_as_it_came() -> None:
    curve = group_curve([history((10, 1.0), (100, 3.0)), history((20, 5.0), (60, 5.0))])

    by_step = {point.timesteps: point for point in curve}
    assert min(by_step) == 20
    assert by_step[20].iqm == 3.0
    assert by_step[20].seeds == 2
    assert by_step[100].iqm == 3.0
    assert by_step[100].seeds == 1
    assert all(point.low <= point.iqm <= point.high for point in curve)


def test_the_interquartile_mean_leaves_out_the_extremes() -> None:
    found = group_statistics([{"mean_reward": value} for value in (0.0, 10.0, 12.0, 1_000.0)])

    assert found is not None
    assert found.iqm == 11.0
    assert found.median == 11.0
    assert found.ci95[0] <= 11.0 <= found.ci95[1]


def test_nothing_measured_is_no_statistics() -> None:
    assert group_statistics([{}, {"mean_reward": None}]) is None
    assert group_curve([[], []]) == []


def test_one_seed_has_no_deviation() -> None:
    found = group_statistics([{"mean_reward": 4.0}])

    assert found is not None
    assert found.std is None
