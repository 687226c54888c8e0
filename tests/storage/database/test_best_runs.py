import pytest

from storage.database import runs
from storage.records.runs import Progress, RunFilter, RunRecord, Visibility

pytestmark = pytest.mark.usefixtures("database")


def scored(mean: float | None, owner: str = "ada", env_id: str = "CartPole-v1") -> RunRecord:
    config = {"total_timesteps": 100}
    run = runs.create_run(name="r", env_id=env_id, algorithm="PPO", config=config, owner=owner)
    # The highest mean of the training is not a score: it rises with the number of episodes.
    runs.save_progress(run.id, Progress(best=-(mean or 0)), {"mean_reward": mean})
    return run


def test_the_best_runs_come_first_and_runs_without_a_score_are_excluded() -> None:
    good, _, better = scored(100.0), scored(None), scored(200.0)
    scored(999.0, env_id="Taxi-v4")

    best = runs.best_runs(RunFilter(env_id="CartPole-v1", archived=None))

    assert [run.id for run in best] == [better.id, good.id]


def test_private_runs_of_other_users_are_not_among_the_best_runs() -> None:
    mine, private, public = scored(1.0), scored(3.0, owner="bob"), scored(2.0, owner="bob")
    runs.change_run(public.id, visibility=Visibility.EVERYONE)

    best = runs.best_runs(RunFilter(env_id="CartPole-v1", seen_by="ada"))

    assert [run.id for run in best] == [public.id, mine.id]
    assert private.id not in {run.id for run in best}
