import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tests.app.sharing.hub_stand_in import Fault, HubStandIn, Repo
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hub() -> Iterator[HubStandIn]:
    with HubStandIn("hf_unused") as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def lab(hub: HubStandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("pulling")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", HF_ENDPOINT=hub.url) as server:
        yield server


def saved(model: Any) -> bytes:
    content = io.BytesIO()
    model.save(content)
    return content.getvalue()


def pull(lab: LabServer, **wishes: Any) -> Any:
    return lab.api.post("/hub/pull", json=wishes, timeout=120)


def test_a_public_model_becomes_a_run_that_can_be_evaluated(
    lab: LabServer, hub: HubStandIn
) -> None:
    scaled = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")]), norm_reward=False)
    model = PPO("MlpPolicy", scaled, n_steps=64, seed=3, policy_kwargs={"net_arch": [8, 8]})
    model.learn(512)
    files = {"ppo-CartPole-v1.zip": saved(model), "vec_normalize.pkl": pickle.dumps(scaled)}
    hub.repos["eve/ppo"] = Repo(private=False, files=files, tags=["rl", "CartPole-v1"])

    answer = pull(lab, repo_id="eve/ppo")

    assert answer.status_code == 201, answer.text
    run = answer.json()
    assert (run["algorithm"], run["env_id"], run["status"]) == ("PPO", "CartPole-v1", "completed")
    assert run["config"]["wrappers"]["normalize_observation"]
    assert run["timesteps"] == model.num_timesteps
    assert f"{hub.url}/eve/ppo" in lab.messages(run["id"])[-1]
    wanted = {"episodes": 3, "seed": 5, "record": False}
    test = lab.api.post(f"/runs/{run['id']}/evaluations", json=wanted).json()
    path = f"/runs/{run['id']}/evaluations/{test['id']}"
    wait_until(lambda: lab.api.get(path).json()["status"] == "completed", within=60)
    assert lab.api.get(path).json()["returns"] == _returns(model, scaled, seeds=(5, 6, 7))


def _returns(model: Any, scaled: VecNormalize, *, seeds: tuple[int, ...]) -> list[float]:
    found, env = [], gym.make("CartPole-v1")
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, is_over = 0.0, False
        while not is_over:
            action, _ = model.predict(scaled.normalize_obs(observation), deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, is_over = total + float(reward), terminated or truncated
        found.append(total)
    return found


class Evil:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("/tmp/rl-lab-was-here"),))


def test_what_can_not_be_played_is_refused_with_the_reason_and_leaves_nothing(
    lab: LabServer, hub: HubStandIn
) -> None:
    dqn = saved(DQN("MlpPolicy", "CartPole-v1", buffer_size=10))
    bad = io.BytesIO()
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("data", "{}")
    hub.repos |= {
        "eve/two": Repo(False, {"a.zip": dqn, "b.zip": dqn}, tags=["CartPole-v1"]),
        "eve/none": Repo(False, {"README.md": b"hi"}),
        "eve/silent": Repo(False, {"a.zip": dqn}),
        "eve/broken": Repo(False, {"a.zip": bad.getvalue()}, tags=["CartPole-v1"]),
        "eve/other": Repo(False, {"a.zip": dqn}, tags=["Acrobot-v1"]),
        "eve/evil": Repo(
            False,
            {"a.zip": dqn, "vec_normalize.pkl": pickle.dumps(Evil())},
            tags=["CartPole-v1"],
        ),
    }
    before = len(lab.api.get("/runs").json()["items"])
    sentences = {
        "eve/nothing": "There is no public model eve/nothing",
        "eve/two": "a.zip, b.zip. Name one with filename",
        "eve/none": "has these zips: none",
        "eve/silent": "doesn't say which environment",
        "eve/broken": "can't read this model",
        "eve/other": "doesn't fit Acrobot-v1",
        "eve/evil": "The scaling of its observations can't be read",
        "cartpole": "repo_id must be owner/name",
    }

    found = {name: pull(lab, repo_id=name) for name in sentences}

    for name, sentence in sentences.items():
        assert found[name].status_code == 422, name
        assert sentence in found[name].json()["error"]["message"], found[name].text
    assert len(lab.api.get("/runs").json()["items"]) == before
    assert not any((lab.folder / ".arriving").iterdir())
    assert not Path("/tmp/rl-lab-was-here").exists()
    assert pull(lab, repo_id="eve/two", filename="b.zip").status_code == 201
    assert pull(lab, repo_id="eve/silent", env_id="CartPole-v1").status_code == 201


def test_networks_of_a_model_may_differ_in_their_layers(lab: LabServer, hub: HubStandIn) -> None:
    halves = {"net_arch": {"pi": [8], "vf": [16, 4]}}
    model = saved(A2C("MlpPolicy", "CartPole-v1", policy_kwargs=halves))
    hub.repos["eve/uneven"] = Repo(False, {"a.zip": model}, tags=["CartPole-v1"])

    run = pull(lab, repo_id="eve/uneven")

    assert run.status_code == 201, run.text
    assert run.json()["config"]["hyperparameters"]["net_arch"] == halves["net_arch"]


def test_a_hub_that_hangs_up_is_asked_again(lab: LabServer, hub: HubStandIn) -> None:
    model = saved(DQN("MlpPolicy", "CartPole-v1", buffer_size=10))
    hub.repos["eve/dqn"] = Repo(False, {"a.zip": model}, tags=["CartPole-v1"])
    hub.faults[:] = [Fault("/resolve/", 0), Fault("/api/models", 500)]

    assert pull(lab, repo_id="eve/dqn").status_code == 201
