import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.authoring.environments.template import TEMPLATE
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

PPO = {"algorithm": "PPO", "n_envs": 1, "total_timesteps": 128}
SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 1, "net_arch": [8]}
RECURRENT = {"n_steps": 64, "batch_size": 64, "lstm_hidden_size": 8}
STACKED = {"frame_stack": 3, "normalize_observation": True, "normalize_reward": True}
LIMITED = {"time_limit": 100, "frame_skip": 3, "sticky_actions": 0.5, "observation_noise": 0.1}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "normalized": {"wrappers": {"normalize_observation": True, "normalize_reward": True}},
    "rewards normalized": {"wrappers": {"normalize_reward": True}},
    "stacked": {"env_id": "Pendulum-v1", "wrappers": STACKED},
    "limited, frames skipped": {"env_id": "Pendulum-v1", "wrappers": LIMITED},
    "MiniGrid": {"env_id": "MiniGrid-Empty-8x8-v0"},
    "MiniGrid with missions": {"env_id": "MiniGrid-Fetch-5x5-N2-v0"},
    "without time limit": {"env_id": "CliffWalking-v1"},
    "nested observations": {"env_id": "Blackjack-v1"},
    "environment with options": {"env_id": "LunarLander-v3", "env_kwargs": {"gravity": -5.0}},
    "of the lab": {"env_id": "GridWorld-v0"},
    "custom": {"env_id": "custom/published-v1"},
    "recurrent": {"algorithm": "RecurrentPPO", "hyperparameters": RECURRENT},
    "masked": {"algorithm": "MaskablePPO", "env_id": "Taxi-v4"},
    "Atari": {"env_id": "ALE/Pong-v5", "wrappers": {"frame_stack": 4, "time_limit": 50}},
    "classic Atari": {"env_id": "PongNoFrameskip-v4", "wrappers": {"time_limit": 50}},
    "Atari in color": {
        "env_id": "BreakoutNoFrameskip-v4",
        "env_kwargs": {"greyscale": False},
        "wrappers": {"frame_stack": 2, "time_limit": 50},
    },
    "fewer actions": {"env_id": "Acrobot-v1", "wrappers": {"left_out_actions": "no torque"}},
    "fewer actions, masked": {
        "algorithm": "MaskablePPO",
        "env_id": "Taxi-v4",
        "wrappers": {"left_out_actions": "pick up"},
    },
}
SEED = 5

HUB = '''"""Stands in for huggingface_hub: the repository is a folder."""


def hf_hub_download(repo_id, filename):
    assert repo_id == "ada/model"
    return {folder!r} + "/" + filename
'''


@pytest.mark.parametrize("case", CASES)
def test_the_snippet_of_a_card_plays_like_an_evaluation_of_the_lab(
    server: LabServer, case: str, tmp_path: Path
) -> None:
    options = {"hyperparameters": SMALL, **PPO, **CASES[case]}
    if case == "custom":
        server.api.post("/environments/custom", json={"name": "published", "code": TEMPLATE})
    run = server.train(**options)
    assert run["status"] == "completed", run["error"]
    expected = evaluated(server, run["id"])

    printed = play(server, run["id"], tmp_path)

    assert printed == pytest.approx(expected, rel=1e-6)


def evaluated(server: LabServer, run_id: str, **options: Any) -> float:
    wanted = {"episodes": 1, "seed": SEED, "record": False, **options}
    test = server.api.post(f"/runs/{run_id}/evaluations", json=wanted).json()
    path = f"/runs/{run_id}/evaluations/{test['id']}"
    states = ("queued", "running")
    wait_until(lambda: server.api.get(path).json()["status"] not in states, within=180)
    return float(server.api.get(path).json()["returns"][0])


def play(server: LabServer, run_id: str, folder: Path) -> float:
    """Run the program of the card as printed, on the files that would be uploaded."""
    preview = server.api.get(f"/runs/{run_id}/publish/preview?repo_id=ada/model").json()
    files = {one["name"] for one in preview["files"]}
    run_files = {
        "vec_normalize.pkl": "vecnormalize.pkl",
        **{name: "model.zip" for name in files if name.endswith(".zip")},
    }
    for name, stored in run_files.items():
        if name in files:
            content = server.api.get(f"/runs/{run_id}/artifacts/{stored}").content
            (folder / name).write_bytes(content)
    if "environment.py" in files:
        (folder / "environment.py").write_text(TEMPLATE)
    (folder / "huggingface_hub.py").write_text(HUB.format(folder=str(folder)))
    program = preview["card"].partition("```python\n")[2].partition("```")[0]
    assert "env.seed(0)\n" in program
    (folder / "use_it.py").write_text(program.replace("env.seed(0)", f"env.seed({SEED})"))
    needs_lab = "app.worker" in program
    done = subprocess.run(
        [sys.executable, *(() if needs_lab else ("-P",)), "-W", "ignore", folder / "use_it.py"],
        cwd=folder,
        env={"PYTHONPATH": f"{folder}:{Path.cwd()}" if needs_lab else str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.rpartition(" ")[2])
