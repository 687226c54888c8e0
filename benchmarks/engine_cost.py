"""What does the lab cost a training that nobody watches?

The engine alone against the lab's worker, which reports, keeps checkpoints and is locked in; same
environments, hyperparameters and seeds, in turn.
"""

import itertools
import statistics
import time
from typing import Any

import psutil

from benchmarks.lab import MeasuredLab, Speed, measured_lab, progress, speed_of, wish

CASES = (("CartPole-v1", "PPO"), ("LunarLander-v3", "PPO"), ("CartPole-v1", "DQN"))
ENGINES = {"sb3": "plain", "fast": "ours"}
"""What the lab's worker uses, and what it is compared with."""
TIMESTEPS = wish("TIMESTEPS", 102_400)
ROUNDS = wish("ROUNDS", 5)
_LONGER = {"PPO": 12, "DQN": 3}
"""How many times as many steps the fast engine does, so that all take about as long."""
_LOOK_EVERY_S = 0.02


def run() -> None:
    """Print the median speeds and ratios of each case, and the ratio of all together."""
    print(f"{TIMESTEPS:,} steps, on the fast engine more; {ROUNDS} rounds in turn, medians\n")
    print("| training | bare steps/s | lab steps/s | ratio | ratio per processor second |")
    print("|---|---|---|---|---|")
    together: dict[str, list[float]] = {}
    with measured_lab() as lab:
        for engine, (env_id, algorithm) in itertools.product(ENGINES, CASES):
            together.setdefault(engine, []).extend(_measure(lab, env_id, algorithm, engine))
    for engine, ratios in together.items():
        ratio = statistics.geometric_mean(ratios)
        print(f"\n{engine}: lab / bare per processor second, all together: {ratio:.3f}")


def _measure(lab: MeasuredLab, env_id: str, algorithm: str, engine: str) -> list[float]:
    bare, ours = [], []
    steps = TIMESTEPS * (_LONGER[algorithm] if engine == "fast" else 1)
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, f"{algorithm} on {env_id}")
        what = {"env_id": env_id, "algorithm": algorithm, "engine": engine}
        wishes = {**what, "total_timesteps": steps, "seed": seed}
        bare.append(speed_of(ENGINES[engine], cold=True, **wishes))
        ours.append(_in_the_lab(lab, **wishes))
    progress(ROUNDS, ROUNDS, f"{algorithm} on {env_id}")
    pairs = list(zip(ours, bare, strict=True))
    ratios = [our.per_cpu_second / plain.per_cpu_second for our, plain in pairs]
    cells = (
        f"{engine}, {algorithm} on {env_id}",
        f"{statistics.median(plain.per_second for plain in bare):,.0f}",
        f"{statistics.median(our.per_second for our in ours):,.0f}",
        f"{statistics.median(our.per_second / plain.per_second for our, plain in pairs):.3f}",
        f"{statistics.median(ratios):.3f}",
    )
    print(f"| {' | '.join(cells)} |", flush=True)
    return ratios


def _in_the_lab(lab: MeasuredLab, **wishes: Any) -> Speed:
    used = {worker: _seconds_used(worker) for worker in lab.workers()}
    run_id = lab.start(**wishes)
    newest = dict(used)
    while not (run := lab.get(run_id))["finished_at"]:
        for worker in newest:
            newest[worker] = max(newest[worker], _seconds_used(worker))
        time.sleep(_LOOK_EVERY_S)
    # One of them did all the work; what the others did is nothing.
    cpu = max(newest[worker] - used[worker] for worker in used)
    return Speed(run["timesteps"] / run["elapsed_s"], run["timesteps"] / cpu)


def _seconds_used(worker: psutil.Process) -> float:
    try:
        times = worker.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
