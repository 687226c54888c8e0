"""Would a compiled update beat NumPy's? One fused call per minibatch, by numba, against ours.

Forward pass, loss, backward pass, clipping and Adam of PPO's default network (64 x 64, tanh) in one
function without a single allocation, as the least that a compiled engine could be. numba is no
dependency: `pip install numba` beside the lab, into any folder named by PYTHONPATH, is enough.
"""

import subprocess
import sys
import time
from importlib.util import find_spec

from app.training.config import RunConfig, RunRequest
from benchmarks.lab import ROOT

TASKS = ("CartPole-v1", "LunarLander-v3")
_ROUNDS = 12
_BATCH = 64
_START = """
import time
began = time.perf_counter()
from benchmarks import compiled_kernel
compiled_kernel.Update(4, 2).step(1)
print(time.perf_counter() - began)
"""


def run() -> None:
    """Print what an update and a whole round of training take either way."""
    if find_spec("numba") is None:
        print("Not measured: numba is not installed.")
        return
    print("Processor time, least of several rounds in turn; a round is 2,048 steps, 10 epochs\n")
    print("| task | NumPy us per minibatch | compiled | ratio | collecting s | whole round ratio |")
    print("|---|---|---|---|---|---|")
    for env_id in TASKS:
        print(f"| {' | '.join(_measure(env_id))} |", flush=True)
    print(f"\nFrom import to the first update, compiled before: {_seconds_to_start():.2f} s")


def _measure(env_id: str) -> tuple[str, ...]:
    from benchmarks.compiled_kernel import Update

    config = RunConfig.from_request(
        RunRequest(env_id=env_id, algorithm="PPO", engine="fast", seed=1)
    )
    model, callback = _model(config)
    size, actions = model.observation_space.shape[0], int(model.action_space.n)
    update, batches = Update(size, actions), 10 * 2_048 // _BATCH
    update.step(1)
    collecting, learning, compiled = [], [], []
    for _ in range(_ROUNDS):
        collecting.append(_clocked(lambda: _collect(model, callback)))
        learning.append(_clocked(model.train) / batches)
        compiled.append(_clocked(lambda: update.step(batches)) / batches)
    ours, theirs, rest = min(learning), min(compiled), min(collecting)
    whole = (rest + batches * ours) / (rest + batches * theirs)
    cells = (f"{ours * 1e6:.0f}", f"{theirs * 1e6:.0f}", f"{ours / theirs:.2f}", f"{rest:.3f}")
    return env_id, *cells, f"{whole:.2f}"


def _model(config: RunConfig):  # noqa: ANN202 - an SB3 model and its callback
    import torch

    from app.worker.models import build_model
    from app.worker.pipeline import make_training_envs

    torch.set_num_threads(1)
    setup = config.setup()
    model = build_model(setup, make_training_envs(setup, 8), seed=1, n_steps=256)
    _, callback = model._setup_learn(10**9, None)
    return model, callback


def _collect(model, callback) -> None:  # noqa: ANN001 - SB3's
    model.collect_rollouts(model.env, callback, model.rollout_buffer, 256)


def _clocked(work) -> float:  # noqa: ANN001 - anything to do
    began = time.process_time()
    work()
    return time.process_time() - began


def _seconds_to_start() -> float:
    command = [sys.executable, "-c", _START]
    for _ in range(2):  # the first one may have to compile
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)
