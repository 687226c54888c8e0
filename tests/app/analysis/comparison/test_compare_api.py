import csv
import io
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from app.catalog.environments.reference_scores import reference_score
from app.evaluation.evaluation import Evaluation
from storage.files.evaluation_files import EvaluationFiles
from storage.files.lab_folder import LabFolder
from tests.lab_server import LabServer
from tests.past_runs import climb, finish, line, train, train_group

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def groups(server: LabServer) -> tuple[str, str]:
    good = train_group(server, (90, 92, 94, 96, 98), name="good", learning_rate=0.001)
    bad = train_group(server, (10, 12, 14, 16, 18), name="bad")
    return f"g:{good}", f"g:{bad}"


def compare(server: LabServer, *keys: str, **more: Any) -> dict[str, Any]:
    answer = server.api.get("/compare", params={"runs": ",".join(keys), **more})
    assert answer.status_code == 200, answer.text
    comparison: dict[str, Any] = answer.json()
    return comparison


def test_two_groups_are_compared_with_their_settings_and_numbers(
    server: LabServer, groups: tuple[str, str]
) -> None:
    comparison = compare(server, *groups)

    (verdict,) = comparison["verdicts"]
    assert verdict["is_told"]
    assert verdict["probability"] == 1.0
    assert verdict["timesteps"] == 2_000
    assert verdict["sentence"].startswith("good, 5 seeds beats bad, 5 seeds with")
    settings = {one["setting"]: one["values"] for one in comparison["differences"]}
    assert settings == {"hyperparameters.learning_rate": ["0.001", "0.0003"]}
    good = comparison["numbers"][0]
    assert good["final"] == {"value": 94.0, "ci95": pytest.approx([92, 96], abs=2), "of": 5}
    assert good["seeds"] == 5
    curve = comparison["curves"][0]
    assert len(curve["low"]) == len(curve["points"][0]) == len(curve["seeds"])
    assert set(curve["seeds"]) == {5}


def test_runs_of_different_length_are_compared_at_their_last_common_step(server: LabServer) -> None:
    long = train(server, climb(100, steps=4_000), name="long", total_timesteps=4_000)
    short = train(server, climb(30, steps=1_000, every=40), name="short", n_envs=4)

    comparison = compare(server, long, short)

    (verdict,) = comparison["verdicts"]
    assert verdict["timesteps"] == 1_000
    # At that step the long one had 25, though it ended with 100.
    assert verdict["probability"] == 0.0
    assert comparison["notes"][0].startswith(
        "Compared after 1,000 steps, the last that all have reached, by the mean reward of training"
    )
    assert "short has trained no further" in comparison["notes"][1]
    assert verdict["seeds"] == [1, 1]
    assert "Not enough seeds to tell." in verdict["sentence"]


def test_a_run_counts_even_if_its_last_episode_ended_before_the_step(server: LabServer) -> None:
    whole = train(server, climb(50, steps=2_000), name="whole")
    updates = [
        {**line(step, 0), "reward": None, "mean_reward": None, "loss": 0.1}
        for step in range(1_005, 2_001, 5)
    ]
    early = train(server, [*climb(40, steps=1_000), *updates], name="early")

    (verdict,) = compare(server, whole, early)["verdicts"]

    assert verdict["seeds"] == [1, 1]


def test_nothing_is_concluded_if_the_tasks_differ(
    server: LabServer, groups: tuple[str, str]
) -> None:
    wrappers = {"time_limit": 100, "sticky_actions": 0.25}
    short = train_group(server, (10, 12, 14, 16, 18), name="short", wrappers=wrappers)

    (verdict,) = compare(server, groups[0], f"g:{short}")["verdicts"]

    assert not verdict["is_told"]
    assert verdict["task_differences"] == ["time_limit none and 100", "sticky_actions 0 and 0.25"]
    assert "so nothing is concluded" in verdict["sentence"]


def test_periodic_evaluations_are_compared_where_all_seeds_have_them(server: LabServer) -> None:
    keys = []
    for name, to in (("evaluated", 50), ("evaluated too", 40)):
        ids = [run["id"] for run in server.create(seeds=[1, 2, 3, 4, 5], name=name)["runs"]]
        finish(server, {run_id: _evaluated(to + i) for i, run_id in enumerate(ids)})
        keys.append(f"g:{server.get(ids[0])['group_id']}")

    comparison = compare(server, *keys)

    (verdict,) = comparison["verdicts"]
    assert (verdict["score_kind"], verdict["timesteps"]) == ("last_evaluation", 2_000)
    assert verdict["is_told"]
    assert comparison["notes"] == [
        "Compared by the periodic evaluations after 2,000 steps, the last that all have."
    ]
    numbers = comparison["numbers"][0]
    assert numbers["evaluation_kind"] == "periodic"
    assert numbers["evaluation"]["value"] == 52.0
    assert numbers["evaluation"]["ci95"][0] < 52 < numbers["evaluation"]["ci95"][1]


def test_only_evaluations_of_the_final_policy_are_results(server: LabServer) -> None:
    """An evaluation of an early checkpoint, as *Test* plays it, says nothing about the run."""
    runs = [train(server, climb(50), name=name) for name in ("early", "final", "sampled")]
    _store_evaluation(server, runs[0], timesteps=500)
    _store_evaluation(server, runs[1], timesteps=2_000)
    _store_evaluation(server, runs[2], timesteps=2_000, deterministic=False)

    early, final, sampled = compare(server, *runs)["numbers"]

    assert (early["evaluation"], early["evaluation_kind"]) == (None, None)
    assert (sampled["evaluation"], sampled["evaluation_kind"]) == (None, None)
    assert final["evaluation_kind"] == "final_policy"
    assert final["evaluation"] == {"value": 42.0, "ci95": [40.0, 44.0], "of": 3}


def test_evaluations_of_a_chosen_policy_or_on_the_seeds_that_chose_it_are_no_results(
    server: LabServer,
) -> None:
    """The best policy may be the last, and an evaluation may repeat the episodes that chose it."""
    runs = [train(server, climb(50), name=name) for name in ("best", "selection", "last")]
    _store_evaluation(server, runs[0], timesteps=2_000, checkpoint="best")
    _store_evaluation(server, runs[1], timesteps=2_000, seeds=(1_000_000, 1_000_001, 1_000_002))
    _store_evaluation(server, runs[2], timesteps=2_000, checkpoint=2_000, seeds=(2_000_000,))

    best, selection, last = compare(server, *runs)["numbers"]

    assert (best["evaluation"], selection["evaluation"]) == (None, None)
    assert last["evaluation"]["value"] == 42.0


def _store_evaluation(server: LabServer, run_id: str, **values: Any) -> None:
    evaluation = Evaluation(
        id=uuid4().hex,
        run_id=run_id,
        created_at=datetime.now(UTC),
        episodes=3,
        mean_return=42.0,
        ci95=(40.0, 44.0),
        returns=(41.0, 42.0, 43.0),
        **values,
    )
    files = EvaluationFiles(LabFolder(server.folder).run(run_id).evaluations_path)
    files.save(evaluation.id, asdict(evaluation), is_over=True)


def _evaluated(to: float) -> list[dict[str, Any]]:
    """Return metrics whose training rewards are all the same."""
    return [
        {**line(step, 10.0), "eval_reward": to * step / 2_000, "eval_timesteps": step}
        for step in range(500, 2_001, 500)
    ]


def test_scores_of_different_environments_are_not_compared(
    server: LabServer, groups: tuple[str, str]
) -> None:
    other = train(server, climb(-100), env_id="Acrobot-v1")

    comparison = compare(server, groups[0], other)

    assert comparison["verdicts"] == []
    assert "CartPole-v1, Acrobot-v1" in comparison["notes"][0]
    assert len(comparison["numbers"]) == 2
    # Each method has results on one environment only.
    assert comparison["across_tasks"]["methods"] == []


def test_methods_are_compared_over_several_environments_by_normalized_scores(
    server: LabServer,
) -> None:
    keys = []
    for name, share in (("high lr", 0.8), ("low lr", 0.4)):
        for env_id in ("CartPole-v1", "MountainCar-v0"):
            scores = [_score(env_id, share + part) for part in (-0.02, 0.0, 0.02)]
            keys.append(f"g:{train_group(server, scores, env_id=env_id, name=f'{env_id} {name}')}")
    keys.append(train(server, climb(-400), env_id="Acrobot-v1", name="elsewhere"))
    keys.append(train(server, climb(1), env_id="Blackjack-v1", name="cards"))

    across = compare(server, *keys)["across_tasks"]

    high, low = across["methods"]
    assert (high["name"], low["name"]) == ("PPO, high lr", "PPO, low lr")
    assert [task["env_id"] for task in across["tasks"]] == ["CartPole-v1", "MountainCar-v0"]
    assert across["tasks"][0]["random"] == 22.2
    assert (across["tasks"][0]["reference"], across["tasks"][0]["source"]) == (
        475.0,
        "the solved threshold",
    )
    for one in ("iqm", "median", "mean"):
        assert high[one]["value"] == pytest.approx(0.8)
        assert high[one]["ci95"][0] < 0.8 < high[one]["ci95"][1]
    assert high["optimality_gap"]["value"] == pytest.approx(0.2)
    assert high["normalized"] == pytest.approx({"CartPole-v1": 0.8, "MountainCar-v0": 0.8})
    assert high["runs"] == 6
    assert low["area"]["value"] != high["area"]["value"]
    above = [tau for tau, share in zip(across["taus"], low["profile"], strict=True) if share > 0.5]
    assert max(above) == pytest.approx(0.4, abs=0.02)
    assert across["notes"] == [
        "Blackjack-v1 is omitted: no random and reference score of it are known.",
        "PPO, elsewhere is omitted: it has results on fewer than two environments with references.",
        "PPO, cards is omitted: it has results on fewer than two environments with references.",
        "Acrobot-v1 is omitted: not all methods have results on it.",
    ]


def test_games_of_either_protocol_but_not_of_both_are_compared_with_human_play(
    server: LabServer,
) -> None:
    pytest.importorskip("ale_py")
    cart = train(server, climb(200), name="cart")
    classic, sticky = (
        train(server, climb(5), name=name, env_id=env_id)
        for name, env_id in (("classic", "PongNoFrameskip-v4"), ("v5", "ALE/Pong-v5"))
    )

    of_classic, of_v5, of_both = (
        compare(server, cart, *games)["across_tasks"]
        for games in ((classic,), (sticky,), (classic, sticky))
    )

    assert not any("Pong" in note and "measured" in note for note in of_classic["notes"])
    assert not any("Pong" in note and "another task" in note for note in of_classic["notes"])
    assert (
        "The scores that count as 0 and 1 on ALE/Pong-v5 were measured with other options "
        "(protocol NoFrameskip-v4 and v5; repeat_action_probability 0 and 0.25)."
    ) in of_v5["notes"]
    assert any("the tasks of classic and v5 differ" in note for note in of_both["notes"])


def _score(env_id: str, normalized: float) -> float:
    known = reference_score(env_id)
    assert known is not None
    return known.random + normalized * (known.reference - known.random)


def test_another_metric_axis_and_reference_can_be_requested(
    server: LabServer, groups: tuple[str, str]
) -> None:
    comparison = compare(server, *groups, metric="reward", x="episode", against=groups[1])

    assert {curve["metric"] for curve in comparison["curves"]} == {"reward"}
    assert comparison["curves"][0]["points"][0][-1] == 20
    assert comparison["verdicts"][0]["ours"] == groups[1]


def test_an_invalid_comparison_is_refused_with_the_field(
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


def test_a_comparison_can_be_exported_as_tables(server: LabServer, groups: tuple[str, str]) -> None:
    formula_name = train(server, climb(5), name='=HYPERLINK("x")')

    def rows(of: str) -> list[dict[str, str]]:
        params = {"runs": f"{groups[0]},{formula_name}", "of": of}
        answer = server.api.get("/compare/export", params=params)
        assert answer.headers["content-type"].startswith("text/csv")
        return list(csv.DictReader(io.StringIO(answer.text)))

    numbers = rows("numbers")
    assert numbers[0]["final"] == "94.0"
    assert numbers[0]["seeds"] == "5"
    # A spreadsheet must not take a name for a formula.
    assert numbers[1]["name"] == '\'=HYPERLINK("x")'
    assert {row["key"] for row in rows("curves")} == {groups[0], formula_name}
    assert "hyperparameters.learning_rate" in {row["setting"] for row in rows("differences")}
