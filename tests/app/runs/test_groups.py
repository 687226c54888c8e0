from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from app.core.errors import InputError
from app.run_config.request import MAX_SEED, RunRequest
from app.run_config.seeds import nearest_seeds, one_request_per_seed, spread_seeds
from app.runs.groups import (
    ends_of,
    group_curve,
    group_name,
    group_statistics,
    has_ended_solved,
    scores_of_one_kind,
)
from storage.records.runs import Progress, RunRecord, RunStatus, ScoreKind


def request(**options: object) -> RunRequest:
    return RunRequest.model_validate({"env_id": "CartPole-v1", "algorithm": "PPO", **options})


def member(timesteps: int, *, solved_at: int | None = None) -> RunRecord:
    now = datetime.now(UTC)
    return RunRecord(
        id="id",
        name="name",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config={"total_timesteps": 100_000},
        created_at=now,
        updated_at=now,
        progress=Progress(timesteps=timesteps, solved_at=solved_at),
    )


def scored(mean: float | None, *, evaluation: float | None = None) -> RunRecord:
    run = replace(member(100), latest={"mean_reward": mean})
    return replace(run, progress=replace(run.progress, last_evaluation=evaluation))


def history(*points: tuple[int, float]) -> list[dict[str, float]]:
    return [{"timesteps": step, "mean_reward": reward} for step, reward in points]


def test_seeds_of_a_group_share_no_environment_with_each_other_or_with_evaluations() -> None:
    """Environment i of a run has the seed of the run plus i; there are at most 64."""
    for seed in range(200):
        seeds = np.sort(spread_seeds(seed, 50))

        assert len(seeds) == 50
        assert np.diff(seeds).min() >= 64
        assert seeds[0] >= 0
        assert seeds[-1] + 63 <= MAX_SEED
        streams = seeds[:, np.newaxis] + np.arange(64)
        assert not ((streams >= 1_000_000) & (streams < 4_000_000)).any()


def test_the_same_request_gives_the_same_seeds_and_more_of_them_begin_with_these() -> None:
    three = [single.seed for single in one_request_per_seed(request(seeds=3, seed=7))]
    five = [single.seed for single in one_request_per_seed(request(seeds=5, seed=7))]
    others = [single.seed for single in one_request_per_seed(request(seeds=5, seed=8))]

    assert three == five[:3]
    assert not set(five) & set(others)


def test_a_single_run_has_the_given_seed() -> None:
    assert [single.seed for single in one_request_per_seed(request(seeds=1, seed=7))] == [7]


def test_seeds_nearer_than_the_parallel_environments_are_found() -> None:
    assert nearest_seeds([100, 7, 8], 8) == (7, 8)
    assert nearest_seeds([0, 8, 16], 8) is None
    assert nearest_seeds([5], 8) is None


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
    assert all(point.low is None and point.high is None for point in curve)


def test_the_last_point_of_a_group_has_all_seeds_that_trained_to_it() -> None:
    """Each run ends in the middle of an episode; the last one ended at another step in each."""
    last_episodes = {98_900: 40.0, 99_100: 50.0, 99_500: 60.0, 99_900: 70.0, 99_980: 80.0}
    members = [member(100_000) for _ in last_episodes]

    curve = group_curve(
        [history((500, 9.0), (step, score)) for step, score in last_episodes.items()],
        ends_of(members),
    )

    last = curve[-1]
    assert (last.timesteps, last.seeds, last.iqm) == (100_000, 5, 60.0)
    assert last.low is not None
    assert last.high is not None
    assert last.low < 60 < last.high


def test_runs_that_stopped_as_solved_keep_their_value_in_the_curve_of_their_group() -> None:
    solved = [member(steps, solved_at=steps) for steps in (18_000, 20_000, 22_000)]
    failed = [member(100_000), member(100_000)]
    histories = [history((500, 9.0), (one.progress.timesteps, 480.0)) for one in solved]
    histories += [history((500, 9.0), (99_900, 20.0)) for _ in failed]

    curve = group_curve(histories, ends_of([*solved, *failed]))

    last = curve[-1]
    assert (last.timesteps, last.seeds) == (100_000, 5)
    assert last.iqm == pytest.approx((20 + 480 + 480) / 3, abs=0.001)


def test_a_single_measured_run_that_ended_as_solved_has_a_curve() -> None:
    solved = member(20_000, solved_at=20_000)

    curve = group_curve([history((500, 9.0), (20_000, 480.0))], ends_of([solved]))

    assert (curve[-1].timesteps, curve[-1].iqm) == (20_000, 480.0)


def test_a_run_that_was_stopped_or_used_its_budget_has_not_ended_as_solved() -> None:
    assert has_ended_solved(member(20_000, solved_at=20_000))
    assert not has_ended_solved(member(20_000))
    assert not has_ended_solved(member(100_000, solved_at=20_000))
    stopped = replace(member(20_000, solved_at=10_000), status=RunStatus.STOPPED)
    assert not has_ended_solved(stopped)


def test_the_interquartile_mean_excludes_the_extremes() -> None:
    statistics = group_statistics([scored(value) for value in (0.0, 10.0, 12.0, 1_000.0)])

    assert statistics is not None
    assert statistics.iqm == 11.0
    assert statistics.median == 11.0
    assert statistics.ci95 is not None
    assert statistics.ci95[0] <= 11.0 <= statistics.ci95[1]


@pytest.mark.parametrize("scores", [[4.0], [4.0, 9.0], [4.0, 4.0, 4.0]])
def test_fewer_than_three_or_equal_seeds_have_no_interval(scores: list[float]) -> None:
    statistics = group_statistics([scored(score) for score in scores])

    assert statistics is not None
    assert statistics.ci95 is None


def test_statistics_are_of_evaluations_if_all_runs_have_them_and_of_one_kind_otherwise() -> None:
    evaluated = [scored(10.0, evaluation=90.0), scored(20.0, evaluation=100.0)]

    of_all = group_statistics(evaluated)
    mixed = group_statistics([*evaluated, scored(30.0)])

    assert of_all is not None
    assert (of_all.mean, of_all.score_kind) == (95.0, ScoreKind.LAST_EVALUATION)
    assert mixed is not None
    assert (mixed.mean, mixed.score_kind) == (20.0, ScoreKind.TRAINING_MEAN)


def test_a_group_has_the_best_score_that_all_its_measured_runs_have() -> None:
    """A run with a final evaluation has periodic ones, too."""
    last = scored(20.0, evaluation=80.0)
    final = scored(10.0, evaluation=90.0)
    progress = replace(final.progress, final_evaluation=95.0, final_evaluation_at=100)
    final = replace(final, progress=progress)

    assert scores_of_one_kind([final, final]) == ([95.0, 95.0], ScoreKind.FINAL_EVALUATION)
    assert scores_of_one_kind([final, last]) == ([90.0, 80.0], ScoreKind.LAST_EVALUATION)
    assert scores_of_one_kind([final, scored(None)]) == ([95.0], ScoreKind.FINAL_EVALUATION)
    assert scores_of_one_kind([final, last, scored(30.0)]) == (
        [10.0, 20.0, 30.0],
        ScoreKind.TRAINING_MEAN,
    )
    assert scores_of_one_kind([]) == ([], ScoreKind.TRAINING_MEAN)


def test_the_highest_evaluation_counts_only_in_groups_of_earlier_versions() -> None:
    new = scored(10.0, evaluation=90.0)
    new = replace(new, progress=replace(new.progress, best_evaluation=99.0))
    old = scored(20.0)
    old = replace(old, progress=replace(old.progress, best_evaluation=97.0))

    assert scores_of_one_kind([old, old]) == ([97.0, 97.0], ScoreKind.BEST_EVALUATION)
    assert scores_of_one_kind([old, new]) == ([20.0, 10.0], ScoreKind.TRAINING_MEAN)


def test_there_are_no_statistics_without_measurements() -> None:
    assert group_statistics([member(0), scored(None)]) is None
    assert group_curve([[], []]) == []


def test_one_seed_has_no_standard_deviation() -> None:
    statistics = group_statistics([scored(4.0)])

    assert statistics is not None
    assert statistics.std is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["Mine, seed 7", "Mine, seed 8"], "Mine"), (["Mine, seed 7", "x"], "Mine"), (["x"], "x")],
)
def test_a_group_has_the_name_of_its_first_run_without_the_seed(
    names: list[str], expected: str
) -> None:
    members = [replace(member(0), id=name, name=name) for name in names]

    assert group_name(members) == expected
