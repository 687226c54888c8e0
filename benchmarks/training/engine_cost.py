"""What does the lab cost a training without viewers?

The engine alone compared with the lab's worker, which reports, saves checkpoints and is sandboxed;
same environments, hyperparameters and seeds, alternately.
"""

import itertools
import statistics
import time
from typing import Any

import psutil

from benchmarks.lab import MeasuredLab, Speed, measured_lab, option, progress, speed_of

CASES = (("CartPole-v1", "PPO"), ("LunarLander-v3", "PPO"), ("CartPole-v1", "DQN"))
ENGINES = {"sb3": "plain", "fast": "ours"}
"""The engine of the lab's worker, and the variant of `one_training` to compare with."""
TIMESTEPS = option("TIMESTEPS", 102_400)
ROUNDS = option("ROUNDS", 5)
_LONGER = {"PPO": 12, "DQN": 3}
"""Factor of steps for the fast engine, so that all trainings take about as long."""
_LOOK_EVERY_S = 0.02


def run() -> None:
    """Print the median speeds and ratios of each case, and the mean ratio of all cases."""
    print(f"{TIMESTEPS:,} steps, on the fast engine more; {ROUNDS} alternating rounds, medians\n")
    print("| training | bare steps/s | lab steps/s | ratio | ratio per second of CPU time |")
    print("|---|---|---|---|---|")
    together: dict[str, list[float]] = {}
    with measured_lab() as lab:
        for engine, (env_id, algorithm) in itertools.product(ENGINES, CASES):
            together.setdefault(engine, []).extend(_measure(lab, env_id, algorithm, engine))
    for engine, ratios in together.items():
        ratio = statistics.geometric_mean(ratios)
        print(f"\n{engine}: lab / bare per second of CPU time, all cases: {ratio:.3f}")


def _measure(lab: MeasuredLab, env_id: str, algorithm: str, engine: str) -> list[float]:
    bare, ours = [], []
    steps = TIMESTEPS * (_LONGER[algorithm] if engine == "fast" else 1)
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, f"{algorithm} on {env_id}")
        what = {"env_id": env_id, "algorithm": algorithm, "engine": engine}
        request = {**what, "total_timesteps": steps, "seed": seed}
        bare.append(speed_of(ENGINES[engine], cold=True, **request))
        ours.append(_in_the_lab(lab, **request))
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


def _in_the_lab(lab: MeasuredLab, **request: Any) -> Speed:
    used = {worker: _seconds_used(worker) for worker in lab.workers()}
    run_id = lab.start(**request)
    newest = dict(used)
    while not (run := lab.get(run_id))["finished_at"]:
        for worker in newest:
            newest[worker] = max(newest[worker], _seconds_used(worker))
        time.sleep(_LOOK_EVERY_S)
    # One worker did all the work; the others were idle.
    cpu = max(newest[worker] - used[worker] for worker in used)
    return Speed(run["timesteps"] / run["elapsed_s"], run["timesteps"] / cpu)


def _seconds_used(worker: psutil.Process) -> float:
    try:
        times = worker.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
