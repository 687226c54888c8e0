import io
import json
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3

from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

Start = Callable[..., LabServer]

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 3, "net_arch": [16]}
QUICK_DQN = {"learning_starts": 200, "net_arch": [16], "batch_size": 32}
SMALL_A2C = {"n_steps": 16, "net_arch": [16]}
QUICK_SAC = {"learning_starts": 200, "net_arch": [16], "batch_size": 32, "buffer_size": 5_000}
CASES = [
    ("PPO", "CartPole-v1", SMALL, 60_000),
    ("PPO", "LunarLander-v3", SMALL, 40_000),
    ("A2C", "CartPole-v1", SMALL_A2C, 100_000),
    ("A2C", "LunarLander-v3", SMALL_A2C, 60_000),
    ("DQN", "CartPole-v1", QUICK_DQN, 8_000),
    ("SAC", "Pendulum-v1", QUICK_SAC, 4_000),
    ("TD3", "Pendulum-v1", QUICK_SAC, 5_000),
]
MODELS = {"PPO": PPO, "A2C": A2C, "DQN": DQN, "SAC": SAC, "TD3": TD3}


def model_of(lab: LabServer, run_id: str, algorithm: str) -> Any:
    content = lab.api.get(f"/runs/{run_id}/artifacts/model.zip").content
    return MODELS[algorithm].load(io.BytesIO(content))


def same_weights(first: Any, second: Any) -> bool:
    ours, theirs = first.policy.state_dict(), second.policy.state_dict()
    return all((ours[name] == theirs[name]).all() for name in ours)


def act(lab: LabServer, run_id: str, verb: str) -> dict[str, Any]:
    answer = lab.api.post(f"/runs/{run_id}/{verb}")
    assert answer.status_code == 202, answer.text
    run: dict[str, Any] = answer.json()
    return run


def lines_of(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = lab.api.get(f"/runs/{run_id}/metrics").json()["items"]
    return items


@pytest.mark.parametrize(("algorithm", "env_id", "values", "steps"), CASES)
def test_a_stopped_and_resumed_run_ends_bit_for_bit_as_an_uninterrupted_one(
    server: LabServer, algorithm: str, env_id: str, values: dict[str, Any], steps: int
) -> None:
    wishes = {
        "algorithm": algorithm,
        "env_id": env_id,
        "hyperparameters": values,
        "total_timesteps": steps,
        "seed": 4,
    }
    whole = server.train(**wishes)

    run = server.create(**wishes, start=True)
    server.wait_for_steps(run["id"], steps // 4)
    act(server, run["id"], "stop")
    stopped = server.wait_for(run["id"], "stopped", "completed")
    assert stopped["status"] == "stopped", "it was too quick to be stopped"
    act(server, run["id"], "resume")
    resumed = server.wait_for(run["id"], "completed", "failed")

    assert resumed["status"] == "completed", resumed["error"]
    assert same_weights(
        model_of(server, whole["id"], algorithm), model_of(server, run["id"], algorithm)
    )
    lines = lines_of(server, run["id"])
    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    episodes = [(line["episode"], line["reward"]) for line in lines if "reward" in line]
    uninterrupted = [
        (line["episode"], line["reward"])
        for line in lines_of(server, whole["id"])
        if "reward" in line
    ]
    assert episodes == uninterrupted
    assert any("Training goes on from step" in text for text in server.messages(run["id"]))


def test_a_paused_run_waits_and_ends_as_if_it_never_had(server: LabServer) -> None:
    wishes = {"hyperparameters": SMALL, "total_timesteps": 60_000, "seed": 9}
    whole = server.train(**wishes)

    run = server.create(**wishes, start=True)
    server.wait_for_steps(run["id"], 2_000)
    act(server, run["id"], "pause")
    paused = server.wait_for(run["id"], "paused")
    again = server.get(run["id"])
    refused = server.api.post(f"/runs/{run['id']}/pause")
    act(server, run["id"], "resume")
    ended = server.wait_for(run["id"], "completed")

    assert again["timesteps"] == paused["timesteps"]
    assert refused.status_code == 409
    assert "is paused" in refused.json()["error"]["message"]
    assert ended["timesteps"] == whole["timesteps"]
    assert same_weights(model_of(server, whole["id"], "PPO"), model_of(server, run["id"], "PPO"))


def test_a_paused_run_can_be_stopped(server: LabServer) -> None:
    run = server.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    server.wait_for_steps(run["id"], 1_000)
    act(server, run["id"], "pause")
    server.wait_for(run["id"], "paused")

    act(server, run["id"], "stop")

    assert server.wait_for(run["id"], "stopped")["status"] == "stopped"


def test_a_completed_run_goes_on_once_it_is_extended(server: LabServer) -> None:
    run = server.train(hyperparameters=SMALL, total_timesteps=1_024, seed=1)
    refused = server.api.post(f"/runs/{run['id']}/resume")

    extended = server.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 4_096}).json()
    act(server, run["id"], "resume")
    ended = server.wait_for(run["id"], "completed")

    assert refused.status_code == 409
    assert "larger total_timesteps" in refused.json()["error"]["message"]
    assert extended["config"]["total_timesteps"] == 4_096
    assert ended["timesteps"] == 4_096
    assert ended["progress"] == 1.0
    config = json.loads((server.folder / run["id"] / "config.json").read_text())
    assert config["total_timesteps"] == 4_096


def test_a_run_whose_worker_was_killed_goes_on_from_its_checkpoint(start_server: Start) -> None:
    lab = start_server()
    run = lab.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    lab.wait_for_steps(run["id"], 20_000)
    act(lab, run["id"], "pause")
    paused = lab.wait_for(run["id"], "paused")
    act(lab, run["id"], "resume")
    lab.wait_for_steps(run["id"], paused["timesteps"] + 5_000)
    shown = lines_of(lab, run["id"])

    wait_until(lambda: len(lab.workers()) == 1)
    (worker,) = lab.workers()
    worker.send_signal(signal.SIGKILL)
    lab.wait_for(run["id"], "interrupted")
    act(lab, run["id"], "resume")
    lab.wait_for(run["id"], "running")
    gone_on = lab.wait_for_steps(run["id"], 1)

    dropped = [text for text in lab.messages(run["id"]) if "were dropped" in text]
    assert len(dropped) == 1
    step = int(dropped[0].split("step ")[1].split(" ")[0].replace(",", ""))
    assert any(f"goes on from step {step:,}" in text for text in lab.messages(run["id"]))
    assert gone_on["timesteps"] >= step
    checkpoint_lines = int(dropped[0].split("lines ")[1].split(" ")[0]) - 1
    assert lines_of(lab, run["id"])[:checkpoint_lines] == shown[:checkpoint_lines]


def test_a_server_that_was_killed_lets_its_runs_go_on_if_told_to(
    start_server: Start, tmp_path: Path
) -> None:
    first = start_server(tmp_path / "lab")
    run = first.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    first.wait_for_steps(run["id"], 20_000)
    act(first, run["id"], "pause")
    first.wait_for(run["id"], "paused")
    first.kill()

    second = start_server(tmp_path / "lab", RL_LAB_AUTO_RESUME="1")
    second.wait_for(run["id"], "running")

    messages = second.messages(run["id"])
    assert any(text.startswith("The server ended while the run was training.") for text in messages)
    assert any("Training goes on from step" in text for text in messages)


def test_a_broken_checkpoint_is_left_out_for_the_one_before(server: LabServer) -> None:
    run = server.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    for steps in (15_000, 40_000):
        server.wait_for_steps(run["id"], steps)
        act(server, run["id"], "pause")
        server.wait_for(run["id"], "paused")
        act(server, run["id"], "resume")
        server.wait_for(run["id"], "running")
    act(server, run["id"], "stop")
    server.wait_for(run["id"], "stopped")
    kept = sorted(
        (server.folder / run["id"] / "checkpoints").glob("*.zip"), key=lambda p: int(p.stem)
    )
    assert len(kept) >= 2
    kept[-1].write_bytes(kept[-1].read_bytes()[:1_000])

    act(server, run["id"], "resume")
    server.wait_for(run["id"], "running")
    act(server, run["id"], "stop")
    server.wait_for(run["id"], "stopped")

    messages = server.messages(run["id"])
    assert any(f"Checkpoint {kept[-1].name} could not be read" in text for text in messages)
    assert any(f"from step {int(kept[-2].stem):,}" in text for text in messages)


def test_a_run_without_a_checkpoint_says_so(server: LabServer) -> None:
    run = server.train(hyperparameters=SMALL, total_timesteps=500)
    for file in (server.folder / run["id"] / "checkpoints").iterdir():
        file.unlink()
    server.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 5_000})

    refused = server.api.post(f"/runs/{run['id']}/resume")

    assert refused.status_code == 409
    assert "has no checkpoint" in refused.json()["error"]["message"]


def test_a_stream_that_stays_open_is_told_what_was_taken_back(server: LabServer) -> None:
    # Rollouts and updates so long that a stop doesn't wait for the next checkpoint.
    long = {**SMALL, "n_steps": 2_048, "n_epochs": 100}
    run = server.create(hyperparameters=long, total_timesteps=40_000, start=True)
    server.wait_for_steps(run["id"], 30_000)
    act(server, run["id"], "stop")
    server.wait_for(run["id"], "stopped")
    # Queued behind another run, it is a stopped run's feed that a listener already has.
    other = server.create(hyperparameters=SMALL, total_timesteps=3_000, start=True)
    act(server, run["id"], "resume")

    with server.stream(f"/runs/{run['id']}/stream?all=1&after=0") as stream:
        events = list(stream)

    server.wait_for(other["id"], "completed")
    (taken_back,) = [event for event in events if event["event"] == "truncated"]
    dropped = next(text for text in server.messages(run["id"]) if "were dropped" in text)
    kept = int(dropped.split("lines ")[1].split(" ")[0]) - 1
    assert json.loads(taken_back["data"]) == {"n": kept}
    numbers: list[int] = []
    for event in events:
        if event["event"] == "truncated":
            numbers = [n for n in numbers if n <= kept]
        if event["event"] == "metrics":
            numbers += [line["n"] for line in json.loads(event["data"])["items"]]
    assert numbers == list(range(1, len(lines_of(server, run["id"])) + 1))


def test_checkpoints_are_artifacts_and_only_the_newest_are_kept(server: LabServer) -> None:
    run = server.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    for i in range(1, 6):
        server.wait_for_steps(run["id"], i * 12_000)
        act(server, run["id"], "pause")
        server.wait_for(run["id"], "paused")
        act(server, run["id"], "resume")
        server.wait_for(run["id"], "running")
    act(server, run["id"], "stop")
    stopped = server.wait_for(run["id"], "stopped")

    names = [a["name"] for a in stopped["artifacts"] if a["name"].startswith("checkpoint-")]
    assert 1 <= len(names) <= 3
    content = server.api.get(f"/runs/{run['id']}/artifacts/{names[-1]}").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert {"model.zip", "state.pkl"} <= set(archive.namelist())
        PPO.load(io.BytesIO(archive.read("model.zip")))


def test_verbs_that_make_no_sense_are_refused(server: LabServer) -> None:
    run = server.create()

    for verb in ("pause", "resume"):
        answer = server.api.post(f"/runs/{run['id']}/{verb}")
        assert answer.status_code == 409
        assert "is created" in answer.json()["error"]["message"]
