import io
import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from sb3_contrib import QRDQN, TRPO
from stable_baselines3 import A2C, DQN, PPO, TD3
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.envs import FakeImageEnv
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.save_util import load_from_zip_file
from stable_baselines3.common.utils import ConstantSchedule, FloatSchedule, LinearSchedule
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from app.accounts.errors import OverLimitError
from app.authoring.environments.template import TEMPLATE
from app.core.settings import read_settings
from app.lab import Lab
from app.protocol import Schedule, read_schedule
from app.sharing.pulling import PullRequest
from app.worker.models.algorithms import ALGORITHMS
from app.worker.models.hub_hyperparameters import read_hyperparameters
from app.worker.models.hub_policy import _examined, _read
from app.worker.models.schedules import PiecewiseLinear
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


PPO_VALUES: dict[str, Any] = {
    "learning_rate": 1e-4,
    "n_steps": 64,
    "batch_size": 32,
    "n_epochs": 20,
    "gamma": 0.98,
    "gae_lambda": 0.8,
    "clip_range": 0.1,
    "ent_coef": 0.01,
    "target_kl": 0.05,
}


def test_a_pulled_model_keeps_its_own_hyperparameters(lab: LabServer, hub: FakeHub) -> None:
    policy = {"net_arch": [8], "log_std_init": -1.0, "ortho_init": False}
    model = PPO("MlpPolicy", "CartPole-v1", seed=42, policy_kwargs=policy, **PPO_VALUES)
    hub.repos["eve/own"] = Repo(False, {"a.zip": saved(model)}, tags=["CartPole-v1"])

    run = pull(lab, repo_id="eve/own").json()

    config = run["config"]
    shown = {name: config["hyperparameters"][name] for name in PPO_VALUES}
    assert shown == PPO_VALUES
    assert (config["seed"], config["n_envs"]) == (42, 1)
    assert config["hyperparameters"]["log_std_init"] == -1.0
    assert config["hyperparameters"]["ortho_init"] is False
    origin = {"source": f"{hub.url}/eve/own", "file": "a.zip", "unknown": []}
    assert config["origin"] == origin


def test_values_that_a_pulled_file_does_not_tell_are_named_as_unknown(
    lab: LabServer, hub: FakeHub
) -> None:
    model = TD3(
        "MlpPolicy",
        "Pendulum-v1",
        learning_rate=lambda left: 1e-3 * left**2,
        buffer_size=10,
        train_freq=(1, "episode"),
        action_noise=NormalActionNoise(np.zeros(1), 0.3 * np.ones(1)),
        policy_kwargs={"net_arch": [8]},
    )
    hub.repos["eve/td3"] = Repo(False, {"a.zip": saved(model)}, tags=["Pendulum-v1"])

    run = pull(lab, repo_id="eve/td3").json()

    unknown = ["buffer_size", "learning_rate", "seed", "train_freq"]
    assert run["config"]["origin"]["unknown"] == unknown
    assert f"so they show defaults: {', '.join(unknown)}." in lab.messages(run["id"])[-1]
    assert run["config"]["hyperparameters"]["action_noise"] == pytest.approx(0.3)
    card = lab.api.get(f"/runs/{run['id']}/publish/preview").json()["card"]
    assert "It was not trained in this lab" in card
    assert f"`a.zip` from `{hub.url}/eve/td3`" in card
    assert "| `learning_rate` | unknown |" in card
    assert "| `seed` | unknown |" in card
    assert "| `engine` |" not in card
    assert "trained it with" not in card


def test_a_bundle_of_a_pulled_run_says_where_it_is_from(lab: LabServer, hub: FakeHub) -> None:
    model = saved(DQN("MlpPolicy", "CartPole-v1", buffer_size=10))
    hub.repos["eve/bundled"] = Repo(False, {"a.zip": model}, tags=["CartPole-v1"])
    run = pull(lab, repo_id="eve/bundled").json()
    bundle = lab.api.get(f"/runs/{run['id']}/artifacts/bundle.zip").content

    imported = lab.api.post("/runs/import", content=bundle)

    assert imported.status_code == 201, imported.text
    assert imported.json()["config"]["origin"] == run["config"]["origin"]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (LinearSchedule(1e-3, 0.0, 1.0), "0.001 -> 0"),
        (FloatSchedule(ConstantSchedule(2e-4)), 2e-4),
        (PiecewiseLinear(((0.0, 1e-3), (0.5, 1e-4))), "0: 0.001, 0.5: 0.0001"),
    ],
)
def test_the_schedules_of_a_pulled_model_are_read(
    lab: LabServer, hub: FakeHub, schedule: Any, expected: object
) -> None:
    model = A2C("MlpPolicy", "CartPole-v1", learning_rate=schedule, policy_kwargs={"net_arch": [8]})
    hub.repos["eve/schedule"] = Repo(False, {"a.zip": saved(model)}, tags=["CartPole-v1"])

    run = pull(lab, repo_id="eve/schedule").json()

    found = run["config"]["hyperparameters"]["learning_rate"]
    points = read_schedule(expected)
    assert found == (expected if points is None else {"points": [list(p) for p in points.points]})


def constant_fn(val: float) -> Any:
    """SB3 1.x saved this function for every constant clip range."""

    def func(_: float) -> float:
        return val

    return func


def linear_schedule(initial_value: float) -> Any:
    """RL Zoo saves this function for `lin_0.1`."""

    def func(progress_remaining: float) -> float:
        return progress_remaining * initial_value

    return func


def test_schedules_that_earlier_versions_saved_as_functions_are_read() -> None:
    model = PPO("MlpPolicy", "CartPole-v1", learning_rate=linear_schedule(2.5e-4))
    model.clip_range = constant_fn(0.15)  # type: ignore[assignment]  # as SB3 1.x stored it
    content = saved(model)
    data, _, _ = load_from_zip_file(io.BytesIO(content))

    values, unknown = read_hyperparameters(content, data or {}, ALGORITHMS["PPO"])

    assert values["learning_rate"] == Schedule(((0.0, 2.5e-4), (1.0, 0.0)))
    assert values["clip_range"] == 0.15
    assert not {"learning_rate", "clip_range"} & set(unknown)


def test_a_model_of_trpo_is_pulled_as_trpo(lab: LabServer, hub: FakeHub) -> None:
    model = TRPO("MlpPolicy", "CartPole-v1", cg_damping=0.2, policy_kwargs={"net_arch": [8]})
    hub.repos["eve/trpo"] = Repo(False, {"a.zip": saved(model)}, tags=["CartPole-v1"])

    run = pull(lab, repo_id="eve/trpo").json()

    assert run["algorithm"] == "TRPO"
    assert run["config"]["hyperparameters"]["cg_damping"] == 0.2


@pytest.mark.parametrize("algorithm", [A2C, PPO, DQN, QRDQN])
def test_a_policy_for_images_has_no_layers_after_its_cnn_unless_it_names_some(
    algorithm: Any,
) -> None:
    options = {"buffer_size": 10} if algorithm in (DQN, QRDQN) else {}
    env = FakeImageEnv(screen_height=36, screen_width=36, n_channels=1)
    content = saved(algorithm("CnnPolicy", env, **options))

    examined = _examined(content, _read(content)[0])

    assert (examined.algorithm, examined.net_arch) == (algorithm.__name__, ())


def test_a_model_for_a_custom_environment_is_pulled(lab: LabServer, hub: FakeHub) -> None:
    created = lab.api.post("/environments/custom", json={"name": "pulled", "code": TEMPLATE})
    assert created.status_code == 201, created.text
    env_id = "custom/pulled-v1"
    trained = lab.train(
        env_id=env_id,
        n_envs=1,
        total_timesteps=64,
        hyperparameters={"n_steps": 64, "batch_size": 64},
    )
    model = lab.api.get(f"/runs/{trained['id']}/artifacts/model.zip").content
    hub.repos["eve/custom"] = Repo(False, {"a.zip": model})

    run = pull(lab, repo_id="eve/custom", env_id=env_id)

    assert run.status_code == 201, run.text
    assert run.json()["env_id"] == env_id


def test_requests_to_the_hub_are_retried(lab: LabServer, hub: FakeHub) -> None:
    model = saved(DQN("MlpPolicy", "CartPole-v1", buffer_size=10))
    hub.repos["eve/dqn"] = Repo(False, {"a.zip": model}, tags=["CartPole-v1"])
    hub.faults[:] = [Fault("/resolve/", 0), Fault("/api/models", 500)]

    assert pull(lab, repo_id="eve/dqn").status_code == 201
