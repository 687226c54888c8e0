"""How much faster is training with EnvPool than with the lab's stepping of Gymnasium environments?

PPO on LunarLander-v3, and stepping alone with random actions; both simulators alternate within one
process, one rollout with its updates at a time, so that other load affects both.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv

from app.catalog.environments.envpool import ENVPOOL
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.models import build_model
from benchmarks.lab import ROOT, one_thread_each, option, progress

ROUNDS = option("ROUNDS", 40)
SIMULATORS = ("gymnasium", "envpool")
_STEPS = 3_200

Turn = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration to measure."""

    name: str
    request: dict[str, Any] = field(default_factory=dict)

    def config(self, simulator: str) -> RunConfig:
        """Return the configuration with one of the simulators."""
        request = {"env_id": "LunarLander-v3", "algorithm": "PPO", "seed": 3, **self.request}
        wrappers = {"simulator": simulator}
        return RunConfig.from_request(RunRequest.model_validate({**request, "wrappers": wrappers}))


CASES = (
    Case("preset Fast, 32 environments", {"preset": "fast"}),
    Case("defaults, 16 environments", {"n_envs": 16}),
    Case("rollouts of 2,048, 8 environments", {"n_envs": 8, "hyperparameters": {"n_steps": 2_048}}),
)


def run() -> None:
    """Print steps per second of CPU time, and the median ratios of the rounds."""
    if not ENVPOOL.is_installed:
        print(f"EnvPool isn't installed; install it with: {ENVPOOL.command}")
        return
    # A new process: NumPy reads its number of threads on import and is already imported here.
    one_thread_each()
    subprocess.run([sys.executable, "-m", "benchmarks.training.envpool"], cwd=ROOT, check=True)


def compare() -> None:
    """Measure all cases in this process."""
    torch.set_num_threads(1)
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    print(f"{ROUNDS} alternating rounds, medians; steps per second of CPU time\n")
    print("| what | Gymnasium steps/s | EnvPool steps/s | ratio | ratio of wall time |")
    print("|---|---|---|---|---|")
    for case in CASES:
        config = case.config("gymnasium")
        rollout = int(config.hyperparameters["n_steps"]) * config.n_envs  # type: ignore[arg-type]
        _measure(f"training, {case.name}", case, _training, rollout)
        _measure(f"stepping, {case.name}", case, _stepping, _STEPS)


def _training(config: RunConfig, envs: VecEnv, steps: int) -> Turn:
    model = build_model(config.setup(), envs, seed=config.seed)
    return lambda: _ignore(model.learn(steps, log_interval=None, reset_num_timesteps=False))  # type: ignore[arg-type]


def _stepping(_: RunConfig, envs: VecEnv, steps: int) -> Turn:
    envs.reset()
    sample: Callable[[], object] = envs.action_space.sample
    actions = [np.array([sample() for _ in range(envs.num_envs)]) for _ in range(64)]

    def play() -> None:
        for n in range(steps // envs.num_envs):
            envs.step(actions[n % len(actions)])

    return play


def _ignore(_: object) -> None:
    """Discard a value."""


def _measure(
    name: str, case: Case, begin: Callable[[RunConfig, VecEnv, int], Turn], steps: int
) -> None:
    turns: dict[str, Turn] = {}
    for simulator in SIMULATORS:
        config = case.config(simulator)
        envs = make_training_envs(config.setup(), config.n_envs)
        turns[simulator] = begin(config, envs, steps)
        turns[simulator]()
    pairs = []
    for done in range(ROUNDS):
        progress(done, ROUNDS, name)
        order = SIMULATORS if done % 2 else SIMULATORS[::-1]
        found = {simulator: _seconds(turns[simulator]) for simulator in order}
        pairs.append([found[simulator] for simulator in SIMULATORS])
    progress(ROUNDS, ROUNDS, name)
    speeds = [steps / statistics.median(pair[n][1] for pair in pairs) for n in (0, 1)]
    by_clock, by_processor = (
        statistics.median(usual[n] / pooled[n] for usual, pooled in pairs) for n in (0, 1)
    )
    cells = (*(f"{speed:,.0f}" for speed in speeds), f"{by_processor:.2f}", f"{by_clock:.2f}")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _seconds(turn: Turn) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    turn()
    return time.perf_counter() - began, time.process_time() - used


if __name__ == "__main__":
    compare()
