"""How much of what SAC, TD3 and TQC can gain does the fast engine gain?

A gradient step of SB3, one of the fast engine and the matrix products of the forward and backward
passes alone, one thread, in turn. No engine that computes the same is faster than those products,
so their share of the time is the limit of what can be won.
"""

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.lab import ROOT, one_thread_each, progress, wish

CASES = (
    ("SAC", [256, 256]),
    ("TD3", [256, 256]),
    ("TD3", [400, 300]),
    ("TQC", [256, 256]),
    ("SAC", [64, 64]),
)
ROUNDS = wish("ROUNDS", 5)
STEPS = wish("GRADIENT_STEPS", 100)
_BATCH = 256


def run() -> None:
    """Measure in a process of its own: NumPy asks for its number of threads once."""
    one_thread_each()
    subprocess.run([sys.executable, "-m", "benchmarks.off_policy_limit"], cwd=ROOT, check=True)


def _run() -> None:
    """Print milliseconds of a gradient step in both engines, of its products, and the limit."""
    print(f"batches of {_BATCH}, Pendulum-v1, {ROUNDS} rounds in turn, medians\n")
    print("| algorithm, layers | SB3 ms | fast engine ms | ratio | products ms | limit |")
    print("|---|---|---|---|---|---|")
    for algorithm, layers in CASES:
        _measure(algorithm, layers)


def _measure(algorithm: str, layers: list[int]) -> None:
    from app.worker.models import _ALGORITHMS, _FAST

    engines = (_ALGORITHMS[algorithm], _FAST[algorithm])
    ways = [*(_trainer(kind, layers) for kind in engines), _products(algorithm, layers)]
    found: list[list[float]] = []
    for number in range(ROUNDS):
        progress(number, ROUNDS, f"{algorithm} {layers}")
        found.append([_milliseconds(do) for do in ways])
    progress(ROUNDS, ROUNDS, f"{algorithm} {layers}")
    plain, fast, alone = (statistics.median(column) for column in zip(*found, strict=True))
    ratio = statistics.median(row[0] / row[1] for row in found)
    limit = statistics.median(row[0] / row[2] for row in found)
    cells = (f"{plain:.2f}", f"{fast:.2f}", f"{ratio:.1f}", f"{alone:.2f}", f"{limit:.1f}")
    print(f"| {algorithm}, {layers} | {' | '.join(cells)} |", flush=True)


def _milliseconds(do: Callable[[], None]) -> float:
    began = time.process_time()
    do()
    return 1_000 * (time.process_time() - began) / STEPS


def _trainer(kind: type[Any], layers: list[int]) -> Callable[[], None]:
    import gymnasium as gym
    import torch
    from stable_baselines3.common.logger import configure

    torch.set_num_threads(1)
    env = gym.make("Pendulum-v1")
    model = kind("MlpPolicy", env, policy_kwargs={"net_arch": layers}, learning_starts=0, seed=1)
    model.set_logger(configure(None, []))
    observed, _ = env.reset(seed=1)
    for _ in range(1_000):
        action = env.action_space.sample()
        seen, reward, terminated, _, info = env.step(action)
        model.replay_buffer.add(observed, seen, action, reward, terminated, [info])
        observed = seen
    model.train(gradient_steps=20, batch_size=_BATCH)
    return lambda: model.train(gradient_steps=STEPS, batch_size=_BATCH)


def _products(algorithm: str, layers: list[int]) -> Callable[[], None]:
    """Return what does the products that one gradient step can't do without."""
    import numpy as np

    critics, outputs = (2, 25) if algorithm == "TQC" else (2, 1)
    # An actor step every second gradient step in TD3, in every one elsewhere.
    actor_share = 0.5 if algorithm == "TD3" else 1.0
    critic, actor = [4, *layers, outputs], [3, *layers, 1]
    forward = {"critic": 2 * critics + critics * actor_share, "actor": 1 + actor_share}
    # Backward: the weights' gradients and the inputs'; through the critics only the inputs'.
    backward = {"critic": 2 * critics + critics * actor_share, "actor": 2 * actor_share}
    sizes = {"critic": critic, "actor": actor}
    work = [
        (np.ones((_BATCH, rows), np.float32), np.ones((rows, columns), np.float32), times)
        for name, shape in sizes.items()
        for rows, columns in itertools.pairwise(shape)
        for times in [forward[name] + backward[name]]
    ]

    def multiply() -> None:
        for left, right, times in work:
            for _ in range(round(times * STEPS)):
                left @ right

    return multiply


if __name__ == "__main__":
    _run()
