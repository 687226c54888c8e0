"""Long runs that are stopped and resumed are identical to uninterrupted ones."""

from typing import Any

import pytest

from tests.exact_runs import assert_same_runs
from tests.lab_server import LabServer

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 3, "net_arch": [16]}
SMALL_A2C = {"n_steps": 16, "net_arch": [16]}
QUICK_DQN = {"learning_starts": 200, "net_arch": [16], "batch_size": 32}
QUICK_SAC = {**QUICK_DQN, "buffer_size": 5_000}
STATEFUL_REWARD = """
class Reward:
    def reset(self):
        self.last = 0.0

    def __call__(self, obs, action, next_obs, reward, terminated, truncated, info):
        change, self.last = self.last - abs(next_obs[2]), abs(next_obs[2])
        return {"change": change, "alive": 0.1}
"""
CASES: list[tuple[str, str, dict[str, Any], int, dict[str, Any]]] = [
    ("PPO", "CartPole-v1", SMALL, 300_000, {}),
    ("PPO", "LunarLander-v3", SMALL, 120_000, {}),
    ("A2C", "CartPole-v1", SMALL_A2C, 500_000, {}),
    ("A2C", "LunarLander-v3", SMALL_A2C, 150_000, {}),
    ("DQN", "CartPole-v1", QUICK_DQN, 30_000, {}),
    ("SAC", "Pendulum-v1", QUICK_SAC, 10_000, {}),
    ("TD3", "Pendulum-v1", QUICK_SAC, 12_000, {}),
    ("PPO", "CartPole-v1", SMALL, 200_000, {"reward_code": STATEFUL_REWARD}),
    ("PPO", "CartPole-v1", SMALL, 30_000, {"reward_code": STATEFUL_REWARD, "engine": "sb3"}),
    ("DQN", "CartPole-v1", QUICK_DQN, 30_000, {"reward_code": STATEFUL_REWARD}),
]


@pytest.mark.parametrize(("algorithm", "env_id", "values", "steps", "more"), CASES)
def test_a_stopped_and_resumed_run_is_bit_identical_to_an_uninterrupted_one(
    server: LabServer,
    algorithm: str,
    env_id: str,
    values: dict[str, Any],
    steps: int,
    more: dict[str, Any],
) -> None:
    options = {
        "algorithm": algorithm,
        "env_id": env_id,
        "hyperparameters": values,
        "total_timesteps": steps,
        "seed": 4,
        **more,
    }
    whole = server.create(**options, start=True)
    assert server.wait_for(whole["id"], "completed", "failed", within=600)["error"] is None

    run = server.create(**options, start=True)
    for share in (0.2, 0.5):
        server.wait_for_steps(run["id"], int(share * steps))
        server.api.post(f"/runs/{run['id']}/stop")
        assert server.wait_for(run["id"], "stopped", "completed")["status"] == "stopped"
        server.api.post(f"/runs/{run['id']}/resume")
    assert server.wait_for(run["id"], "completed", "failed", within=600)["error"] is None

    assert_same_runs(server, whole["id"], run["id"], algorithm)
