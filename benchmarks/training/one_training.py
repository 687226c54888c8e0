"""One training in a separate process with one thread, without the lab.

`python -m benchmarks.training.one_training VARIANT REQUEST [cold]` prints steps per second, and
steps per second of CPU time. VARIANT is `plain` (Stable-Baselines3 as in its documentation), `ours`
(the lab's engine and environments) or `stepping` (the lab's environments alone, random actions).
`cold` measures from the first step, like runs of the lab.
"""

import os
import sys
import time
from collections.abc import Callable

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import msgspec
import numpy as np
import torch
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv

from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.models import build_model


def main(variant: str, request: RunRequest, *, cold: bool) -> None:
    """Measure one variant of a training."""
    torch.set_num_threads(1)
    config = RunConfig.from_request(request)
    setup = config.setup()
    if variant == "plain":
        envs = make_vec_env(config.env_id, config.n_envs, seed=config.seed)
        setup = msgspec.structs.replace(setup, engine="sb3")
    else:
        envs = make_training_envs(setup, config.n_envs)
    if variant == "stepping":
        _warm_up_and_measure(lambda steps: _play(envs, steps), config.total_timesteps)
        return
    model = build_model(setup, envs, seed=config.seed)

    def learn(steps: int) -> int:
        before = model.num_timesteps
        model.learn(steps, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
        return model.num_timesteps - before

    measure = _measure if cold else _warm_up_and_measure
    measure(learn, config.total_timesteps)


def _warm_up_and_measure(do: Callable[[int], int], steps: int) -> None:
    do(min(2_000, steps // 10))
    _measure(do, steps)


def _measure(do: Callable[[int], int], steps: int) -> None:
    began, used = time.perf_counter(), time.process_time()
    done = do(steps)
    duration, used = time.perf_counter() - began, time.process_time() - used
    print(done / duration, done / used)


def _play(envs: VecEnv, steps: int) -> int:
    envs.reset()
    rounds = steps // envs.num_envs
    actions = [
        np.array([envs.action_space.sample() for _ in range(envs.num_envs)]) for _ in range(64)
    ]
    for n in range(rounds):
        envs.step(actions[n % len(actions)])
    return rounds * envs.num_envs


main(sys.argv[1], RunRequest.model_validate_json(sys.argv[2]), cold="cold" in sys.argv[3:])
