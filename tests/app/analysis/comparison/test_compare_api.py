import csv
import io
from typing import Any

import pytest

from tests.lab_server import LabServer
from tests.past_runs import climb, line, train, train_group

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def groups(server: LabServer) -> tuple[str, str]:
    good = train_group(server, (90, 92, 94, 96, 98), name="good", learning_rate=0.001)
    bad = train_group(server, (10, 12, 14, 16, 18), name="bad")
    return f"g:{good}", f"g:{bad}"


def compare(server: LabServer, *keys: str, **more: Any) -> dict[str, Any]:
    answer = server.api.get("/compare", params={"runs": ",".join(keys), **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_two_groups_are_told_apart_with_their_settings_and_numbers(
    server: LabServer, groups: tuple[str, str]
) -> None:
    found = compare(server, *groups)

    (verdict,) = found["verdicts"]
    assert verdict["is_told"]
    assert verdict["probability"] == 1.0
    assert verdict["timesteps"] == 2_000
    assert verdict["sentence"].startswith("good, 5 seeds beats bad, 5 seeds with")
    settings = {one["setting"]: one["values"] for one in found["differences"]}
    assert settings == {"hyperparameters.learning_rate": ["0.001", "0.0003"]}
    good = found["numbers"][0]
    assert good["final"] == {"value": 94.0, "ci95": pytest.approx([92, 96], abs=2), "of": 5}
    assert good["seeds"] == 5
    curve = found["curves"][0]
    assert len(curve["low"]) == len(curve["points"][0]) == len(curve["seeds"])
    assert set(curve["seeds"]) == {5}


def test_runs_of_different_length_are_compared_where_both_have_been(server: LabServer) -> None:
    long = train(server, climb(100, steps=4_000), name="long", total_timesteps=4_000)
    short = train(server, climb(30, steps=1_000, every=40), name="short", n_envs=4)

    found = compare(server, long, short)

    (verdict,) = found["verdicts"]
    assert verdict["timesteps"] == 1_000
    # At that step the long one had 25, though it ended with 100.
    assert verdict["probability"] == 0.0
    assert found["notes"][0] == "Compared after 1,000 steps, the last that all have reached."
    assert "short hasn't come farther" in found["notes"][1]
    assert verdict["seeds"] == [1, 1]
    assert "Not enough seeds to tell." in verdict["sentence"]


def test_a_run_counts_though_its_last_episode_ended_before_the_step(server: LabServer) -> None:
    whole = train(server, climb(50, steps=2_000), name="whole")
    updates = [
        {**line(step, 0), "reward": None, "mean_reward": None, "loss": 0.1}
        for step in range(1_005, 2_001, 5)
    ]
    early = train(server, [*climb(40, steps=1_000), *updates], name="early")

    (verdict,) = compare(server, whole, early)["verdicts"]

    assert verdict["seeds"] == [1, 1]


def test_scores_of_different_environments_are_not_compared(
    server: LabServer, groups: tuple[str, str]
) -> None:
    other = train(server, climb(-100), env_id="Acrobot-v1")

    found = compare(server, groups[0], other)

    assert found["verdicts"] == []
    assert "CartPole-v1, Acrobot-v1" in found["notes"][0]
    assert len(found["numbers"]) == 2


def test_another_metric_axis_and_reference_can_be_asked_for(
    server: LabServer, groups: tuple[str, str]
) -> None:
    found = compare(server, *groups, metric="reward", x="episode", against=groups[1])

    assert {curve["metric"] for curve in found["curves"]} == {"reward"}
    assert found["curves"][0]["points"][0][-1] == 20
    assert found["verdicts"][0]["ours"] == groups[1]


def test_what_can_not_be_compared_is_refused_with_the_reason(
    server: LabServer, groups: tuple[str, str]
) -> None:
    def refused(**params: Any) -> tuple[int, str]:
        answer = server.api.get("/compare", params=params)
        return answer.status_code, answer.json()["error"].get("field")

    assert refused(runs="nothing")[0] == 404
    assert refused(runs="g:nothing")[0] == 404
    assert refused() == (422, "runs")
    assert refused(runs=" , ") == (422, "runs")
    assert refused(runs=groups[0], against="other") == (422, "against")
    assert refused(runs=groups[0], x="metres") == (422, "x")


def test_everything_can_be_taken_away_as_a_table(
    server: LabServer, groups: tuple[str, str]
) -> None:
    evil = train(server, climb(5), name='=HYPERLINK("x")')

    def rows(of: str) -> list[dict[str, str]]:
        params = {"runs": f"{groups[0]},{evil}", "of": of}
        answer = server.api.get("/compare/export", params=params)
        assert answer.headers["content-type"].startswith("text/csv")
        return list(csv.DictReader(io.StringIO(answer.text)))

    numbers = rows("numbers")
    assert numbers[0]["final"] == "94.0"
    assert numbers[0]["seeds"] == "5"
    # A spreadsheet must not take a name for a formula.
    assert numbers[1]["name"] == '\'=HYPERLINK("x")'
    assert {row["key"] for row in rows("curves")} == {groups[0], evil}
    assert "hyperparameters.learning_rate" in {row["setting"] for row in rows("differences")}
