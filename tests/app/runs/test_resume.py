import io
import json
import signal
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from stable_baselines3 import PPO

from tests.exact_runs import assert_same_runs, lines_of
from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

Start = Callable[..., LabServer]

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 3, "net_arch": [16]}
# Slow enough to be stopped midway on any machine; the sleep changes no number.
STATEFUL_SLEEPING_REWARD = """
import time

class Reward:
    def reset(self):
        self.last = 0.0

    def __call__(self, obs, action, next_obs, reward, terminated, truncated, info):
        time.sleep({seconds})
        change, self.last = self.last - abs(next_obs[2]), abs(next_obs[2])
        return {{"change": change, "alive": 0.1}}
"""
QUICK_DQN = {"learning_starts": 200, "net_arch": [16], "batch_size": 32}
CASES: list[dict[str, Any]] = [
    {"algorithm": "PPO", "hyperparameters": SMALL, "wrappers": {"normalize_reward": True}},
    {"algorithm": "PPO", "hyperparameters": SMALL, "engine": "sb3", "wrappers": {"frame_skip": 2}},
    {"algorithm": "DQN", "hyperparameters": QUICK_DQN},
]


def act(lab: LabServer, run_id: str, verb: str) -> dict[str, Any]:
    answer = lab.api.post(f"/runs/{run_id}/{verb}")
    assert answer.status_code == 202, answer.text
    run: dict[str, Any] = answer.json()
    return run


@pytest.mark.parametrize("options", CASES, ids=lambda options: "-".join(map(str, options.values())))
def test_a_stopped_and_resumed_run_is_bit_identical_to_an_uninterrupted_one(
    server: LabServer, options: dict[str, Any]
) -> None:
    """Train with a stateful reward; `make soak` has more algorithms and longer runs."""
    options = {**options, "total_timesteps": 1_600, "n_envs": 2, "seed": 4}
    whole = server.train(**options, reward_code=STATEFUL_SLEEPING_REWARD.format(seconds=0))

    run = server.create(
        **options, reward_code=STATEFUL_SLEEPING_REWARD.format(seconds=0.002), start=True
    )
    server.wait_for_steps(run["id"], 400)
    act(server, run["id"], "stop")
    stopped = server.wait_for(run["id"], "stopped", "completed")
    act(server, run["id"], "resume")
    resumed = server.wait_for(run["id"], "completed", "failed")

    assert stopped["status"] == "stopped"
    assert resumed["status"] == "completed", resumed["error"]
    assert_same_runs(server, whole["id"], run["id"], options["algorithm"])
    assert any("Training continues from step" in text for text in server.messages(run["id"]))


def test_a_paused_and_resumed_run_is_identical_to_an_uninterrupted_one(server: LabServer) -> None:
    options = {"hyperparameters": SMALL, "total_timesteps": 1_600, "n_envs": 2, "seed": 9}
    whole = server.train(**options, reward_code=STATEFUL_SLEEPING_REWARD.format(seconds=0))

    run = server.create(
        **options, reward_code=STATEFUL_SLEEPING_REWARD.format(seconds=0.002), start=True
    )
    server.wait_for_steps(run["id"], 400)
    act(server, run["id"], "pause")
    paused = server.wait_for(run["id"], "paused")
    later = server.get(run["id"])
    refused = server.api.post(f"/runs/{run['id']}/pause")
    act(server, run["id"], "resume")
    ended = server.wait_for(run["id"], "completed")

    assert later["timesteps"] == paused["timesteps"]
    assert refused.status_code == 409
    assert "is paused" in refused.json()["error"]["message"]
    assert ended["timesteps"] == whole["timesteps"]
    assert_same_runs(server, whole["id"], run["id"], "PPO")


def test_a_paused_run_can_be_stopped(server: LabServer) -> None:
    run = server.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    server.wait_for_steps(run["id"], 1_000)
    act(server, run["id"], "pause")
    server.wait_for(run["id"], "paused")

    act(server, run["id"], "stop")

    assert server.wait_for(run["id"], "stopped")["status"] == "stopped"


def test_a_completed_run_can_be_resumed_with_a_larger_budget(server: LabServer) -> None:
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


def test_a_run_whose_worker_was_killed_resumes_from_its_checkpoint(own_server: LabServer) -> None:
    lab = own_server
    run = lab.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    lab.wait_for_steps(run["id"], 20_000)
    act(lab, run["id"], "pause")
    paused = lab.wait_for(run["id"], "paused")
    act(lab, run["id"], "resume")
    lab.wait_for_steps(run["id"], paused["timesteps"] + 5_000)
    lines_before = lines_of(lab, run["id"])

    wait_until(lambda: len(lab.workers()) == 1)
    (worker,) = lab.workers()
    worker.send_signal(signal.SIGKILL)
    lab.wait_for(run["id"], "interrupted")
    act(lab, run["id"], "resume")
    lab.wait_for(run["id"], "running")
    resumed = lab.wait_for_steps(run["id"], 1)

    dropped = [text for text in lab.messages(run["id"]) if "were dropped" in text]
    assert len(dropped) == 1
    step = int(dropped[0].split("step ")[1].split(" ")[0].replace(",", ""))
    assert any(f"continues from step {step:,}" in text for text in lab.messages(run["id"]))
    assert resumed["timesteps"] >= step
    # Another checkpoint may have been written after these lines were read.
    kept = min(int(dropped[0].split("lines ")[1].split(" ")[0]) - 1, len(lines_before))
    assert kept > 0
    assert lines_of(lab, run["id"])[:kept] == lines_before[:kept]
    lab.stop_all()


def test_a_killed_server_resumes_its_runs_at_the_next_start_if_configured(
    own_server: LabServer,
) -> None:
    run = own_server.create(hyperparameters=SMALL, total_timesteps=5_000_000, start=True)
    own_server.wait_for_steps(run["id"], 20_000)
    act(own_server, run["id"], "pause")
    own_server.wait_for(run["id"], "paused")
    own_server.kill()

    own_server.restart(RL_LAB_AUTO_RESUME="1")
    own_server.wait_for(run["id"], "running")

    messages = own_server.messages(run["id"])
    assert any(text.startswith("The server ended while the run was training.") for text in messages)
    assert any("Training continues from step" in text for text in messages)
    own_server.stop_all()


def test_a_run_resumes_from_the_previous_checkpoint_if_the_newest_is_broken(
    server: LabServer,
) -> None:
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


def test_a_run_without_a_checkpoint_can_not_be_resumed(server: LabServer) -> None:
    run = server.train(hyperparameters=SMALL, total_timesteps=500)
    for file in (server.folder / run["id"] / "checkpoints").iterdir():
        file.unlink()
    server.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 5_000})

    refused = server.api.post(f"/runs/{run['id']}/resume")

    assert refused.status_code == 409
    assert "has no checkpoint" in refused.json()["error"]["message"]


def test_an_open_stream_reports_which_lines_were_dropped(server: LabServer) -> None:
    # Rollouts take four seconds: the run is stopped long before the second checkpoint.
    slow = {
        "hyperparameters": {**SMALL, "n_steps": 512},
        "reward_code": SLEEPING_REWARD.format(seconds=0.0005),
    }
    run = server.create(**slow, n_envs=8, total_timesteps=8_192, start=True)
    server.wait_for_steps(run["id"], 5_000)
    act(server, run["id"], "stop")
    server.wait_for(run["id"], "stopped")
    # The run is queued behind another, so the stream opens before the run resumes.
    other = server.create(hyperparameters=SMALL, total_timesteps=3_000, start=True)
    act(server, run["id"], "resume")

    with server.stream(f"/runs/{run['id']}/stream?all=1&after=0") as stream:
        events = list(stream)

    server.wait_for(other["id"], "completed")
    (truncated,) = [event for event in events if event["event"] == "truncated"]
    dropped = next(text for text in server.messages(run["id"]) if "were dropped" in text)
    kept = int(dropped.split("lines ")[1].split(" ")[0]) - 1
    assert json.loads(truncated["data"]) == {"n": kept}
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


def test_commands_that_do_not_fit_the_status_are_refused(server: LabServer) -> None:
    run = server.create()

    for verb in ("pause", "resume"):
        answer = server.api.post(f"/runs/{run['id']}/{verb}")
        assert answer.status_code == 409
        assert "is created" in answer.json()["error"]["message"]
