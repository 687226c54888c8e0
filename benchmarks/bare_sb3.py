"""The same training without the app: plain Stable-Baselines3, one thread.

`python -m benchmarks.bare_sb3 ENV_ID ALGORITHM TIMESTEPS SEED` prints steps per second, and steps
per second of processor time.
"""

import os
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import gymnasium as gym
import torch
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from app.training.config import RunConfig, RunRequest
from app.worker.models import build_model


def main(env_id: str, algorithm: str, timesteps: int, seed: int) -> None:
    """Train with the lab's default hyperparameters and print the speed."""
    torch.set_num_threads(1)
    wishes = {"env_id": env_id, "algorithm": algorithm, "total_timesteps": timesteps}
    request = RunRequest(**wishes, seed=seed, engine="sb3")
    config = RunConfig.from_request(request)
    envs = DummyVecEnv([lambda: Monitor(gym.make(env_id))] * config.n_envs)
    model = build_model(config.setup(), envs, seed=seed)
    began, used = time.perf_counter(), time.process_time()
    model.learn(timesteps)
    took, used = time.perf_counter() - began, time.process_time() - used
    print(model.num_timesteps / took, model.num_timesteps / used)


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
