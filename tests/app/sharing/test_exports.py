import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from app.authoring.environments.template import TEMPLATE
from tests.lab_server import LabServer, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

SMALL = {"n_steps": 64, "batch_size": 64, "net_arch": [16]}


@pytest.fixture(scope="module")
def run_id(server: LabServer) -> str:
    options = {"hyperparameters": SMALL, "wrappers": {"normalize_observation": True}}
    run = server.train(total_timesteps=2_000, evaluate_every=700, **options)
    assert run["status"] == "completed", run["error"]
    run_id: str = run["id"]
    return run_id


TAGS = {
    "reward": "reward",
    "mean_reward": "rollout/ep_rew_mean",
    "mean_length": "rollout/ep_len_mean",
    "fps": "time/fps",
    "eval_reward": "eval/mean_reward",
    "eval_length": "eval/mean_ep_length",
    "loss": "train/loss",
    "policy_loss": "train/policy_gradient_loss",
    "learning_rate": "train/learning_rate",
}


def test_tensorboard_reads_the_export_with_the_tags_and_steps_of_stable_baselines3(
    server: LabServer, run_id: str, tmp_path: Path
) -> None:
    answer = server.api.get(f"/runs/{run_id}/export?format=tensorboard")

    assert answer.status_code == 200
    name = answer.headers["Content-Disposition"].split('"')[1]
    assert name.startswith("events.out.tfevents.")
    (tmp_path / name).write_bytes(answer.content)
    accumulator = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    accumulator.Reload()
    lines = server.api.get(f"/runs/{run_id}/metrics").json()["items"]
    # A training that is over at once has no speed yet.
    measured = {name for line in lines for name, value in line.items() if value is not None}
    assert measured >= TAGS.keys() - {"fps"}
    for metric, tag in TAGS.items():
        if metric not in measured:
            continue
        at = "eval_timesteps" if metric.startswith("eval_") else "timesteps"
        ours = [(line[at], line[metric]) for line in lines if line.get(metric) is not None]
        theirs = [(one.step, one.value) for one in accumulator.Scalars(tag)]
        assert [step for step, _ in ours] == [step for step, _ in theirs]
        assert [value for _, value in ours] == pytest.approx([v for _, v in theirs], rel=1e-6)


@pytest.fixture(scope="module")
def run_on_custom_environment(server: LabServer) -> str:
    server.api.post("/environments/custom", json={"name": "exported", "code": TEMPLATE})
    run = server.train(env_id="custom/exported-v1", n_envs=2, hyperparameters=SMALL)
    assert run["status"] == "completed", run["error"]
    return str(run["id"])


@pytest.mark.parametrize("which", ["run_id", "run_on_custom_environment"])
def test_the_script_in_an_onnx_export_gets_the_same_returns_as_the_lab(
    server: LabServer, which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run_id = request.getfixturevalue(which)
    wanted = {"episodes": 3, "seed": 7, "record": False}
    test = server.api.post(f"/runs/{run_id}/evaluations", json=wanted).json()
    path = f"/runs/{run_id}/evaluations/{test['id']}"
    wait_until(lambda: server.api.get(path).json()["status"] == "completed", within=60)

    answer = server.api.get(f"/runs/{run_id}/export?format=onnx", timeout=120)

    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "play.py", "--episodes", "3", "--seed", "7"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    played = [float(line.rpartition(" ")[2]) for line in done.stdout.splitlines()]
    # The script prints six digits.
    assert played == pytest.approx(server.api.get(path).json()["returns"], rel=1e-5)


def test_a_policy_without_onnx_support_is_refused_with_the_reason(server: LabServer) -> None:
    run = server.train(
        algorithm="RecurrentPPO",
        total_timesteps=128,
        n_envs=1,
        hyperparameters={"n_steps": 64, "batch_size": 64, "lstm_hidden_size": 16},
    )

    answer = server.api.get(f"/runs/{run['id']}/export?format=onnx", timeout=120)

    assert answer.status_code == 422
    assert "RecurrentPPO" in answer.json()["error"]["message"]
    untrained = server.create()
    assert server.api.get(f"/runs/{untrained['id']}/export?format=onnx").status_code == 409
