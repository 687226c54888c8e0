"""What runs offer besides starting and stopping, over a real server."""

import io
import pickle
from typing import Any

import gymnasium as gym
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]}
LONG = {"hyperparameters": SMALL, "total_timesteps": 5_000_000, "start": True}


def change(lab: LabServer, run_id: str, **values: Any) -> Any:
    return lab.api.patch(f"/runs/{run_id}", json=values)


def lines_of(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = lab.api.get(f"/runs/{run_id}/metrics").json()["items"]
    return items


def model_of(lab: LabServer, run_id: str, name: str = "model.zip") -> PPO:
    return PPO.load(io.BytesIO(lab.api.get(f"/runs/{run_id}/artifacts/{name}").content))


def test_hyperparameters_and_budget_are_changed_while_a_run_trains(server: LabServer) -> None:
    run = server.create(**LONG, reward_code=SLEEPING_REWARD.format(seconds=0.0005))
    server.wait_for_steps(run["id"], 1_000)

    answer = change(server, run["id"], learning_rate=0.0123, ent_coef=0.05, clip_range="0.3 -> 0.1")
    assert answer.status_code == 200, answer.text
    (recorded,) = answer.json()["config"]["changes"]
    at = recorded["timesteps"]
    server.wait_for_steps(run["id"], at + 1_000)
    shorter = change(server, run["id"], total_timesteps=at + 5_000)
    ended = server.wait_for(run["id"], "completed")

    assert recorded["learning_rate"] == 0.0123
    assert shorter.json()["config"]["total_timesteps"] == at + 5_000
    assert at + 5_000 <= ended["timesteps"] < 5_000_000
    rates = [line["learning_rate"] for line in lines_of(server, run["id"]) if "loss" in line]
    assert 0.0123 in rates
    assert rates[0] != 0.0123
    messages = server.messages(run["id"])
    assert any(f"From step {at:,} on: learning_rate 0.0123" in text for text in messages)
    model = model_of(server, run["id"])
    assert model.ent_coef == 0.05
    assert {group["lr"] for group in model.policy.optimizer.param_groups} == {0.0123}
    assert model.clip_range(1.0) == pytest.approx(0.3)


def test_the_budget_of_a_paused_run_is_extended(server: LabServer) -> None:
    run = server.create(hyperparameters=SMALL, total_timesteps=100_000, start=True)
    server.wait_for_steps(run["id"], 512)

    server.api.post(f"/runs/{run['id']}/pause")
    server.wait_for(run["id"], "paused")
    answer = change(server, run["id"], total_timesteps=102_000)
    server.api.post(f"/runs/{run['id']}/resume")
    ended = server.wait_for(run["id"], "completed")

    assert answer.json()["config"]["total_timesteps"] == 102_000
    assert ended["timesteps"] >= 102_000
    assert ended["progress"] == 1
    updates = [line["updates"] for line in lines_of(server, run["id"])]
    assert updates == sorted(updates)
    assert updates[-1] == ended["timesteps"] // (64 * 8)


def test_changes_are_kept_after_a_stop_and_a_resume(server: LabServer) -> None:
    run = server.create(**LONG)
    server.wait_for_steps(run["id"], 1_000)
    change(server, run["id"], learning_rate=0.0123)
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")

    change(server, run["id"], total_timesteps=server.get(run["id"])["timesteps"] + 3_000)
    server.api.post(f"/runs/{run['id']}/resume")
    server.wait_for(run["id"], "completed")

    rates = [line["learning_rate"] for line in lines_of(server, run["id"]) if "loss" in line]
    assert rates[-1] == 0.0123


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"learning_rate": 5}, "learning_rate"),
        ({"clip_range": "much"}, "clip_range"),
        ({"ent_coef": -1}, "ent_coef"),
        ({"total_timesteps": 0}, "total_timesteps"),
    ],
)
def test_an_invalid_change_is_refused(
    server: LabServer, values: dict[str, Any], field: str
) -> None:
    run = server.create()

    answer = change(server, run["id"], **values)

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


def test_only_the_budget_can_be_changed_while_a_run_does_not_train(server: LabServer) -> None:
    run = server.create()

    refused = change(server, run["id"], learning_rate=0.1)
    allowed = change(server, run["id"], total_timesteps=4_000)
    unknown = change(server, server.create(algorithm="DQN")["id"], clip_range=0.1)

    assert refused.status_code == 409
    assert allowed.json()["config"]["total_timesteps"] == 4_000
    assert unknown.status_code == 422
    assert unknown.json()["error"]["message"] == "DQN has no clip_range to change."


def test_seeds_make_a_group_with_common_statistics(server: LabServer) -> None:
    body = {
        "env_id": "CartPole-v1",
        "algorithm": "PPO",
        "total_timesteps": 2_000,
        "hyperparameters": SMALL,
        "seeds": [3, 5],
        "start": True,
    }
    created = server.api.post("/runs", json=body)
    assert created.status_code == 201, created.text
    runs = [server.wait_for(run["id"], "completed") for run in created.json()["runs"]]

    group = server.api.get(f"/groups/{created.json()['group_id']}").json()

    assert [run["config"]["seed"] for run in runs] == [3, 5]
    assert [run["id"] for run in group["runs"]] == [run["id"] for run in runs]
    assert group["statistics"]["seeds"] == 2
    assert group["curve"][-1]["seeds"] == 2
    assert group["curve"][-1]["low"] is None  # Two seeds have no interval.
    listed = server.api.get("/runs", params={"group_id": created.json()["group_id"]}).json()
    assert len(listed["items"]) == 2
    assert server.api.get("/groups/nothing").status_code == 404


def test_an_invalid_group_creates_no_run(server: LabServer) -> None:
    before = server.api.get("/runs").json()["items"]
    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "seeds": 3, "n_envs": 1_000}

    refused = server.api.post("/runs", json=body)

    assert refused.status_code == 422
    assert server.api.get("/runs").json()["items"] == before


def test_a_run_starts_with_the_policy_of_another(server: LabServer) -> None:
    first = server.train(hyperparameters=SMALL, total_timesteps=2_048, seed=1)
    rate = {"learning_rate": 1e-8}

    second = server.train(
        hyperparameters={**SMALL, **rate}, total_timesteps=512, seed=2, init_from=first["id"]
    )
    other = server.api.post(
        "/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO", "init_from": first["id"]}
    )
    missing = server.api.post(
        "/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO", "init_from": "nobody"}
    )

    assert second["parent"] == first["id"]
    ours, theirs = (model_of(server, run["id"]).policy.state_dict() for run in (second, first))
    assert all(abs(ours[name] - theirs[name]).max() < 1e-5 for name in ours)
    assert other.status_code == 422
    assert "net_arch" in other.json()["error"]["message"]
    assert missing.json()["error"]["field"] == "init_from"


def test_a_run_ends_when_its_evaluations_reach_the_solved_threshold(server: LabServer) -> None:
    run = server.create(
        preset="fast", total_timesteps=40_000, stop_when_solved=True, seed=1, start=True
    )

    ended = server.wait_for(run["id"], "completed", "failed", within=170)

    assert ended["status"] == "completed", ended["error"]
    evaluated = [line for line in lines_of(server, run["id"]) if "eval_reward" in line]
    assert evaluated
    assert all(line["eval_timesteps"] <= line["timesteps"] for line in evaluated)
    best = model_of(server, run["id"], "best.zip")
    assert best.num_timesteps in {line["eval_timesteps"] for line in evaluated}
    # The number of evaluations depends on the load; the reason for the end must be true.
    if "Solved" in server.messages(run["id"])[-1]:
        assert ended["solved_at"] is not None
        assert all(line["eval_reward"] >= 475 for line in evaluated[-3:])
    else:
        assert ended["timesteps"] >= 40_000


def test_normalization_is_delivered_with_the_model(server: LabServer) -> None:
    wrappers = {"normalize_observation": True, "normalize_reward": True, "sticky_actions": 0.1}
    run = server.train(hyperparameters=SMALL, wrappers=wrappers)

    names = {artifact["name"] for artifact in run["artifacts"]}
    content = server.api.get(f"/runs/{run['id']}/artifacts/vecnormalize.pkl").content
    normalization: VecNormalize = pickle.loads(content)
    normalization.set_venv(DummyVecEnv([lambda: gym.make("CartPole-v1")]))

    assert {"model.zip", "policy.pt", "vecnormalize.pkl"} <= names
    assert normalization.obs_rms.count > 1_000  # type: ignore[union-attr]
    assert "Evaluations and the live view disable: sticky actions." in server.messages(run["id"])
    rewards = [line["reward"] for line in lines_of(server, run["id"]) if "reward" in line]
    assert all(reward.is_integer() for reward in rewards)


def test_an_environment_that_returns_invalid_observations_fails_its_run_with_the_reason(
    server: LabServer,
) -> None:
    wrappers = {"randomize": {"force_mag": [1e300, 1e300]}}

    run = server.train(hyperparameters=SMALL, wrappers=wrappers)
    after = server.train(hyperparameters=SMALL, total_timesteps=512)

    assert run["status"] == "failed"
    assert "in observation component" in run["error"]
    assert after["status"] == "completed"


def test_an_attribute_that_an_environment_lacks_can_not_be_randomized(server: LabServer) -> None:
    run = server.train(wrappers={"randomize": {"moon": [1, 2]}})

    assert run["status"] == "failed"
    assert "has no numeric attribute 'moon'" in run["error"]


def test_presets_state_their_expected_results(server: LabServer) -> None:
    presets = server.api.get(
        "/presets", params={"env_id": "CartPole-v1", "algorithm": "ppo"}
    ).json()
    general = server.api.get("/presets", params={"env_id": "Pendulum-v1", "algorithm": "CrossQ"})
    wrong = server.api.get("/presets", params={"env_id": "Pendulum-v1", "algorithm": "DQN"})

    assert list(presets) == ["fast", "sb3_defaults", "rl_zoo"]
    assert presets["fast"]["expected_score"] > 475
    assert presets["fast"]["expected_seconds"] > 0
    assert presets["fast"]["hyperparameters"]["gamma"] == 0.98
    assert (presets["rl_zoo"]["published_score"], presets["rl_zoo"]["note"]) == (500, "")
    assert presets["rl_zoo"]["hyperparameters"]["gae_lambda"] == 0.8
    assert presets["sb3_defaults"]["n_envs"] == 1
    assert list(general.json()) == ["sb3_defaults", "rl_zoo"]
    assert general.json()["rl_zoo"]["expected_score"] is None
    assert wrong.status_code == 422


def test_a_change_at_the_end_of_a_run_does_not_block_it(server: LabServer) -> None:
    run = server.create(hyperparameters=SMALL, total_timesteps=1_024, start=True)
    wait_until(lambda: server.get(run["id"])["status"] != "queued")

    answer = change(server, run["id"], learning_rate=0.01)

    assert answer.status_code in {200, 409}
    assert server.wait_for(run["id"], "completed")["status"] == "completed"


def test_a_change_during_a_long_update_does_not_fail_the_run(server: LabServer) -> None:
    slow = {"n_steps": 2_048, "batch_size": 32, "n_epochs": 20, "net_arch": [256, 256]}
    run = server.create(
        hyperparameters=slow, n_envs=1, total_timesteps=2_049, start=True, algorithm="PPO"
    )
    server.wait_for_steps(run["id"], 2_048)

    answer = change(server, run["id"], learning_rate=0.0123)
    ended = server.wait_for(run["id"], "completed", "failed", within=170)

    assert answer.status_code in {200, 409}
    assert ended["status"] == "completed", ended["error"]


def test_a_hyperparameter_can_not_be_changed_to_null(server: LabServer) -> None:
    answer = change(server, server.create()["id"], ent_coef=None)

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "ent_coef"


def test_filters_of_lists_accept_former_ids_and_other_spellings(server: LabServer) -> None:
    run = server.create(env_id="LunarLander-v2")

    page = server.api.get("/runs", params={"env_id": "LunarLander-v2", "algorithm": "ppo"}).json()

    assert run["id"] in {one["id"] for one in page["items"]}


def test_the_final_policy_is_evaluated_too(server: LabServer) -> None:
    run = server.train(hyperparameters=SMALL, total_timesteps=1_024, evaluate_every=1_000)

    evaluated = [line for line in lines_of(server, run["id"]) if "eval_reward" in line]
    assert evaluated[-1]["eval_timesteps"] == run["timesteps"]
    assert "best.zip" in {artifact["name"] for artifact in run["artifacts"]}


def test_a_run_that_starts_with_a_trained_policy_says_that_it_explores_anew(
    server: LabServer,
) -> None:
    values = {"learning_starts": 100, "net_arch": [8]}
    first = server.train(algorithm="DQN", hyperparameters=values, total_timesteps=200)

    second = server.create(algorithm="DQN", hyperparameters=values, init_from=first["id"])

    said = f"Starts with the policy of run {first['id']}. Exploration begins anew, with 100 steps"
    assert any(text.startswith(said) for text in server.messages(second["id"]))


def test_endless_episodes_are_cut_in_evaluations_and_the_log_says_so(server: LabServer) -> None:
    # It never learns, and an untrained network walks into walls forever.
    run = server.create(
        env_id="CliffWalking-v1",
        algorithm="DQN",
        hyperparameters={"learning_starts": 1_000_000, "net_arch": [8]},
        reward_code=SLEEPING_REWARD.format(seconds=0.01),
        total_timesteps=1_000_000,
        n_envs=1,
        evaluate_every=20,
        seed=1,
        start=True,
    )

    def evaluations() -> list[dict[str, Any]]:
        return [line for line in lines_of(server, run["id"]) if "eval_reward" in line]

    wait_until(lambda: bool(evaluations()), within=240)
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")

    assert evaluations()[0]["eval_length"] == 5_000
    (said,) = [text for text in server.messages(run["id"]) if " cut " in text]
    assert "cut 20 of 20 episodes at 5,000 steps" in said
