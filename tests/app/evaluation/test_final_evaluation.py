"""Final evaluations over the API: which of them make the score of a run."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.evaluation.evaluating import BRIEF, Subject
from tests.conftest import free_port
from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

FINAL: dict[str, Any] = {**BRIEF, "evaluation": {"final_episodes": 20}}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("final-evaluations-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_VIEWERS="1") as server:
        yield server


def final_score(lab: LabServer, run_id: str) -> dict[str, Any]:
    wait_until(lambda: lab.get(run_id)["score_kind"] == "final_evaluation", within=90)
    run: dict[str, Any] = lab.get(run_id)
    return run


def test_a_complete_run_gets_the_score_of_its_final_policy(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**FINAL)["id"])

    run = final_score(lab, subject.run_id)

    [evaluation] = lab.api.get(subject.path).json()["items"]
    assert run["score"] == evaluation["mean_return"]
    assert evaluation["timesteps"] == run["timesteps"]
    assert (evaluation["seed_family"], evaluation["seeds"]) == (
        "final",
        [*range(3_000_000, 3_000_020)],
    )
    assert lab.get(subject.run_id)["config"]["evaluation"]["final_episodes"] == 20


def test_a_run_that_trains_on_loses_the_score_of_its_earlier_policy(lab: LabServer) -> None:
    run = final_score(lab, lab.train(**FINAL)["id"])

    lab.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 768}).raise_for_status()
    lab.api.post(f"/runs/{run['id']}/resume").raise_for_status()
    extended = lab.wait_for(run["id"], "completed", "failed")

    assert extended["timesteps"] > run["timesteps"]
    again = final_score(lab, run["id"])
    evaluations = lab.api.get(f"/runs/{run['id']}/evaluations").json()["items"]
    assert [one["timesteps"] for one in evaluations] == [again["timesteps"], run["timesteps"]]


@pytest.mark.parametrize(
    "options",
    [
        {"episodes": 20},
        {"episodes": 19, "seed_family": "final"},
        {"episodes": 20, "seed": 3_000_100},
        {"episodes": 20, "seed_family": "final", "deterministic": False},
        {"episodes": 20, "seed_family": "final", "disturbances": True},
        {
            "episodes": 20,
            "seed_family": "final",
            "code": "def evaluate(episode):\n    return {'ones': 1}\n",
        },
    ],
)
def test_an_evaluation_in_which_a_choice_was_left_makes_no_score(
    lab: LabServer, options: dict[str, Any]
) -> None:
    noisy = {**BRIEF, "wrappers": {"time_limit": 60, "observation_noise": 0.1}}
    subject = Subject(lab, lab.train(**noisy)["id"])

    evaluation = subject.evaluate(record=False, **options)

    assert len(evaluation["returns"]) == options["episodes"]
    assert lab.get(subject.run_id)["score_kind"] == "training_mean"
    is_disturbed = options.get("disturbances", False)
    assert evaluation["disturbances"] == (["observation_noise"] if is_disturbed else [])
    assert evaluation["left_out"] == ([] if is_disturbed else ["observation_noise"])


def test_a_score_of_a_run_with_a_custom_reward_is_measured_without_its_code(
    lab: LabServer,
) -> None:
    subject = Subject(lab, lab.train(**BRIEF, reward_code=SLEEPING_REWARD.format(seconds=0))["id"])

    evaluation = subject.evaluate(episodes=20, seed_family="final")

    run = final_score(lab, subject.run_id)
    assert run["score"] == evaluation["mean_return"]
    moments = lab.api.get(f"{subject.path}/{evaluation['id']}/replay").json()["moments"]
    assert all(moment["terms"] == {} for moment in moments)


def test_the_number_of_episodes_can_not_be_chosen_by_its_result(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    longer = subject.evaluate(episodes=40, seed_family="final", record=False)

    shorter = subject.evaluate(episodes=20, seed_family="final", record=False)

    assert shorter["returns"] == longer["returns"][:20]
    assert lab.get(subject.run_id)["score"] == longer["mean_return"]


def test_the_score_is_stored_when_the_evaluation_is_seen_to_be_over(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])

    evaluation = subject.evaluate(episodes=20, seed_family="final", record=False)

    run = lab.get(subject.run_id)
    assert (run["score"], run["score_kind"]) == (evaluation["mean_return"], "final_evaluation")


def test_a_seed_and_a_family_exclude_each_other(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])

    answer = subject.request(seed=7, seed_family="final")

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "seed")


def test_a_video_shows_the_first_five_episodes_and_the_returns_are_those_of_all(
    lab: LabServer,
) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])

    recorded = subject.evaluate(episodes=8)
    plain = subject.evaluate(episodes=8, record=False)

    moments = lab.api.get(f"{subject.path}/{recorded['id']}/replay").json()["moments"]
    assert {moment["episode"] for moment in moments} == {1, 2, 3, 4, 5}
    assert recorded["returns"] == plain["returns"]
    assert recorded["seeds"] == [*range(2_000_000, 2_000_008)]


def test_periodic_evaluations_play_new_selection_seeds_and_count_for_the_score(
    lab: LabServer,
) -> None:
    run = lab.train(**BRIEF, evaluate_every=128, evaluation={"episodes": 3, "deterministic": False})

    lines = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    evaluated = [line for line in lines if line.get("eval_reward") is not None]

    assert evaluated
    assert lab.get(run["id"])["score_kind"] == "last_evaluation"
    assert lab.get(run["id"])["score"] == evaluated[-1]["eval_reward"]


def test_evaluations_begin_once_the_mean_reward_is_high_enough(lab: LabServer) -> None:
    options = {**BRIEF, "evaluate_every": 64}

    never = lab.train(**options, evaluation={"start_above": 1_000})

    lines = lab.api.get(f"/runs/{never['id']}/metrics").json()["items"]
    # The final policy is evaluated in any case.
    steps = {line["eval_timesteps"] for line in lines if line.get("eval_timesteps") is not None}
    assert steps <= {never["timesteps"]}
