"""The statistics of episodes, for one agent and for several."""

import pytest

from app.worker.training.episode_statistics import EpisodeStatistics

NOTHING = {"rewards": (), "lengths": (), "episodes": 0}


def test_the_line_of_an_episode_has_means_and_each_agent_by_name() -> None:
    statistics = EpisodeStatistics(NOTHING)
    statistics.add({"agent": 2.0}, 10)

    line = statistics.add({"red": 1.0, "blue": 3.0}, 20)

    assert line["agents"] == {
        "red": {"reward": 1.0, "length": 20},
        "blue": {"reward": 3.0, "length": 20},
    }
    assert (line["reward"], line["mean_reward"]) == (4.0, 3.0)
    assert (line["episode_length"], line["mean_length"]) == (20, 15.0)


def test_the_success_rate_is_that_of_the_last_100_episodes_that_report_it() -> None:
    statistics = EpisodeStatistics(NOTHING)

    assert "success_rate" not in statistics.add({"agent": 0.0}, 1)
    for number in range(150):
        line = statistics.add({"agent": 0.0}, 1, is_success=number >= 75)
    resumed = EpisodeStatistics(statistics.counts())

    assert line["success_rate"] == 0.75
    assert resumed.add({"agent": 0.0}, 1)["success_rate"] == 0.75
    assert resumed.add({"agent": 0.0}, 1, is_success=True)["success_rate"] == 0.76


@pytest.mark.parametrize("before", [0, 5, 250])
def test_statistics_continue_from_their_counts(before: int) -> None:
    first = EpisodeStatistics(NOTHING)
    for number in range(before):
        first.add({"agent": float(number)}, number)

    resumed = EpisodeStatistics(first.counts())

    assert resumed.counts() == first.counts()
    assert resumed.add({"agent": 7.0}, 3) == first.add({"agent": 7.0}, 3)
    assert resumed.count == before + 1
