"""Compare runs bit by bit."""

import io
from typing import Any

from stable_baselines3 import A2C, DQN, PPO, SAC, TD3

from tests.lab_server import LabServer

MODELS = {"PPO": PPO, "A2C": A2C, "DQN": DQN, "SAC": SAC, "TD3": TD3}


def lines_of(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    """Return the metrics of a run, line by line."""
    items: list[dict[str, Any]] = lab.api.get(f"/runs/{run_id}/metrics").json()["items"]
    return items


def assert_same_runs(lab: LabServer, whole: str, interrupted: str, algorithm: str) -> None:
    """Assert equal weights and episodes, and metrics numbered without gaps."""
    ours, theirs = (weights_of(lab, run_id, algorithm) for run_id in (whole, interrupted))
    assert all((ours[name] == theirs[name]).all() for name in ours)
    numbers = [line["n"] for line in lines_of(lab, interrupted)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert episodes_of(lab, interrupted) == episodes_of(lab, whole)


def weights_of(lab: LabServer, run_id: str, algorithm: str) -> Any:
    content = lab.api.get(f"/runs/{run_id}/artifacts/model.zip").content
    return MODELS[algorithm].load(io.BytesIO(content)).policy.state_dict()


def episodes_of(lab: LabServer, run_id: str) -> list[Any]:
    names = ("episode", "reward", "shaped_reward", "terms")
    return [
        [line.get(name) for name in names] for line in lines_of(lab, run_id) if "reward" in line
    ]
