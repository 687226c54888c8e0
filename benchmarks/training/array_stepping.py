"""How much faster are array environments than a loop over Gymnasium's?

Without a model: random actions, both kinds alternately, each with what training and checkpoints
need.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from app.protocol import commands
from app.worker.envs.replayable import Replayable
from app.worker.envs.vectorized.array_envs import make_array_envs
from app.worker.envs.vectorized.pipeline import make_wrapped
from benchmarks.lab import option, progress

ENVIRONMENTS = (
    "CartPole-v1",
    "MountainCar-v0",
    "Pendulum-v1",
    "Acrobot-v1",
)
COPIES = (1, 8, 32, 128)
STEPS = option("STEPS", 2_000)
ROUNDS = option("ROUNDS", 5)
_LEAST_CALLS = 100


def run() -> None:
    """Print steps per second of both kinds, and the median ratio of the rounds."""
    print(f"At least {STEPS:,} steps of random actions, {ROUNDS} alternating rounds, medians\n")
    print("| environment | copies | loop steps/s | array steps/s | array / loop |")
    print("|---|---|---|---|---|")
    for env_id in ENVIRONMENTS:
        for copies in COPIES:
            _measure(env_id, copies)


def _measure(env_id: str, copies: int) -> None:
    setup = commands.Setup(env_id=env_id, algorithm="PPO", hyperparameters={})
    looped = DummyVecEnv([lambda: Replayable(make_wrapped(setup, setup.wrappers))] * copies)
    arrays = make_array_envs(setup, copies)
    if arrays is None:
        print(f"| {env_id} | {copies} | - | not exact on this machine | - |", flush=True)
        return
    actions = _random_actions(looped)
    pairs = []
    for done in range(ROUNDS):
        progress(done, ROUNDS, f"{copies} x {env_id}")
        pairs.append((_speed(looped, actions), _speed(arrays, actions)))
    progress(ROUNDS, ROUNDS, f"{copies} x {env_id}")
    loop, array = map(statistics.median, zip(*pairs, strict=True))
    ratio = statistics.median(ours / theirs for theirs, ours in pairs)
    print(f"| {env_id} | {copies} | {loop:,.0f} | {array:,.0f} | {ratio:.1f} |", flush=True)


def _random_actions(envs: VecEnv) -> list[np.ndarray]:
    envs.action_space.seed(0)
    sample: Callable[[], object] = envs.action_space.sample
    calls = max(_LEAST_CALLS, STEPS // envs.num_envs)
    return [np.array([sample() for _ in range(envs.num_envs)]) for _ in range(calls)]


def _speed(envs: VecEnv, actions: list[np.ndarray]) -> float:
    envs.seed(0)
    envs.reset()
    began = time.perf_counter()
    for chosen in actions:
        envs.step(chosen)
    return len(actions) * envs.num_envs / (time.perf_counter() - began)
