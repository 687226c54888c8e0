import io
import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from app.accounts.errors import OverLimitError
from app.core.settings import read_settings
from app.lab import Lab
from app.sharing.pulling import PullRequest
from storage.records.grants import Allowance, SeenFilter
from storage.records.runs import RunFilter
from tests.app.sharing.fake_hub import FakeHub, Fault, Repo
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    with FakeHub("hf_unused") as fake_hub:
        yield fake_hub


@pytest.fixture(scope="module")
def lab(hub: FakeHub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("pulling")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", HF_ENDPOINT=hub.url) as server:
        yield server


def saved(model: Any) -> bytes:
    content = io.BytesIO()
    model.save(content)
    return content.getvalue()


def pull(lab: LabServer, **options: Any) -> Any:
    return lab.api.post("/hub/pull", json=options, timeout=120)


def test_a_pulled_model_becomes_a_run_that_can_be_evaluated(lab: LabServer, hub: FakeHub) -> None:
    normalized = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")]), norm_reward=False)
    model = PPO("MlpPolicy", normalized, n_steps=64, seed=3, policy_kwargs={"net_arch": [8, 8]})
    model.learn(512)
    files = {"ppo-CartPole-v1.zip": saved(model), "vec_normalize.pkl": pickle.dumps(normalized)}
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
    assert lab.api.get(path).json()["returns"] == _returns(model, normalized, seeds=(5, 6, 7))


def _returns(model: Any, normalized: VecNormalize, *, seeds: tuple[int, ...]) -> list[float]:
    returns, env = [], gym.make("CartPole-v1")
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, is_over = 0.0, False
        while not is_over:
            action, _ = model.predict(normalized.normalize_obs(observation), deterministic=True)
            observation, reward, terminated, truncated, _ = env.step(action)
            total, is_over = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


async def test_a_model_larger_than_the_rest_of_the_disk_quota_is_refused(
    hub: FakeHub, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, policy_kwargs={"net_arch": [8]})
    hub.repos["eve/large"] = Repo(
        private=False, files={"ppo-CartPole-v1.zip": saved(model)}, tags=["CartPole-v1"]
    )
    lab = Lab(read_settings([], os.environ))
    await lab.open_for_one_command()

    with pytest.raises(OverLimitError, match=r"The model needs 0 MB, and you may have 0 MB more"):
        await lab.sharing.pulls.pull(
            PullRequest(repo_id="eve/large"), Allowance(owner=None, max_bytes=1_000)
        )

    assert (await lab.runs.list(SeenFilter(RunFilter()))).items == ()
    await lab.close()


def test_a_model_of_the_zoo_for_a_game_has_no_layers_after_its_cnn(
    lab: LabServer, hub: FakeHub
) -> None:
    pytest.importorskip("ale_py")
    env = AtariWrapper(gym.make("ALE/Pong-v5", frameskip=1, repeat_action_probability=0.0))
    envs = VecFrameStack(DummyVecEnv([lambda: env]), 4)
    hub.repos["eve/pong"] = Repo(
        False, {"a2c.zip": saved(A2C("CnnPolicy", envs))}, tags=["PongNoFrameskip-v4"]
    )

    pulled = pull(lab, repo_id="eve/pong")

    assert pulled.status_code == 201, pulled.text
    run = pulled.json()
    assert run["environment_label"] == "ALE/Pong-v5 (NoFrameskip-v4)"
    assert run["config"]["hyperparameters"]["net_arch"] == []


class MaliciousPickle:
    def __reduce__(self) -> Any:
        return (Path.touch, (Path("/tmp/rl-lab-was-here"),))


def test_an_unusable_model_is_refused_with_the_reason_and_leaves_no_files(
    lab: LabServer, hub: FakeHub
) -> None:
    dqn = saved(DQN("MlpPolicy", "CartPole-v1", buffer_size=10))
    flat = DQN("MlpPolicy", "CartPole-v1", buffer_size=10, policy_kwargs={"net_arch": []})
    bad = io.BytesIO()
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("data", "{}")
    hub.repos |= {
        "eve/two": Repo(False, {"a.zip": dqn, "b.zip": dqn}, tags=["CartPole-v1"]),
        "eve/none": Repo(False, {"README.md": b"hi"}),
        "eve/silent": Repo(False, {"a.zip": dqn}),
        "eve/broken": Repo(False, {"a.zip": bad.getvalue()}, tags=["CartPole-v1"]),
        "eve/other": Repo(False, {"a.zip": dqn}, tags=["Acrobot-v1"]),
        "eve/flat": Repo(False, {"a.zip": saved(flat)}, tags=["CartPole-v1"]),
        "eve/evil": Repo(
            False,
            {"a.zip": dqn, "vec_normalize.pkl": pickle.dumps(MaliciousPickle())},
            tags=["CartPole-v1"],
        ),
    }
    before = len(lab.api.get("/runs").json()["items"])
    sentences = {
        "eve/nothing": "There is no public model eve/nothing",
        "eve/two": "a.zip, b.zip. Name one with filename",
        "eve/none": "has these zips: none",
        "eve/silent": "doesn't name its environment",
        "eve/broken": "can't read this model",
        "eve/other": "doesn't match Acrobot-v1",
        "eve/flat": "net_arch without layers needs image observations",
        "eve/evil": "Its observation normalization can't be read",
        "cartpole": "repo_id must be owner/name",
    }

    answers = {name: pull(lab, repo_id=name) for name in sentences}

    for name, sentence in sentences.items():
        assert answers[name].status_code == 422, name
        assert sentence in answers[name].json()["error"]["message"], answers[name].text
    assert len(lab.api.get("/runs").json()["items"]) == before
    assert not any((lab.folder / ".arriving").iterdir())
    assert not Path("/tmp/rl-lab-was-here").exists()
    assert pull(lab, repo_id="eve/two", filename="b.zip").status_code == 201
    assert pull(lab, repo_id="eve/silent", env_id="CartPole-v1").status_code == 201


def test_a_pulled_model_can_have_different_policy_and_value_networks(
    lab: LabServer, hub: FakeHub
) -> None:
    networks = {"net_arch": {"pi": [8], "vf": [16, 4]}}
    model = saved(A2C("MlpPolicy", "CartPole-v1", policy_kwargs=networks))
    hub.repos["eve/uneven"] = Repo(False, {"a.zip": model}, tags=["CartPole-v1"])

    run = pull(lab, repo_id="eve/uneven")

    assert run.status_code == 201, run.text
    assert run.json()["config"]["hyperparameters"]["net_arch"] == networks["net_arch"]


def test_requests_to_the_hub_are_retried(lab: LabServer, hub: FakeHub) -> None:
    model = saved(DQN("MlpPolicy", "CartPole-v1", buffer_size=10))
    hub.repos["eve/dqn"] = Repo(False, {"a.zip": model}, tags=["CartPole-v1"])
    hub.faults[:] = [Fault("/resolve/", 0), Fault("/api/models", 500)]

    assert pull(lab, repo_id="eve/dqn").status_code == 201
