"""The same training without the app: plain Stable-Baselines3, one thread. Prints steps per second.

`python -m benchmarks.bare_sb3 ENV_ID TIMESTEPS SEED`
"""

import os
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from app.training.config import RunConfig, RunRequest


def main(env_id: str, timesteps: int, seed: int) -> None:
    """Train with the lab's default hyperparameters and print the speed."""
    torch.set_num_threads(1)
    config = RunConfig.from_request(RunRequest(env_id=env_id, algorithm="PPO"))
    values = dict(config.hyperparameters)
    layers, _ = values.pop("net_arch"), values.pop("activation_fn")
    envs = DummyVecEnv([lambda: Monitor(gym.make(env_id))] * config.n_envs)
    policy = {"net_arch": list(layers)}  # type: ignore[arg-type]
    model = PPO("MlpPolicy", envs, policy_kwargs=policy, device="cpu", seed=seed, **values)  # type: ignore[arg-type]
    began = time.perf_counter()
    model.learn(timesteps)
    print(model.num_timesteps / (time.perf_counter() - began))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
