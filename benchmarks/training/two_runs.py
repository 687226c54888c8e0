"""Do two trainings on two cores do twice the work of one?

For comparison, processes without the lab, one and two at once: cores that share caches, memory or
a power budget don't do twice the work of one in any case.
"""

import statistics
from concurrent.futures import ThreadPoolExecutor

from benchmarks.lab import MeasuredLab, measured_lab, option, progress, speed_of

TASKS = ("CartPole-v1", "LunarLander-v3")
TIMESTEPS = option("TIMESTEPS", 200_000)
ROUNDS = option("ROUNDS", 3)


def run() -> None:
    """Print the steps per second of one run, the total of two at once, and the ratio."""
    print(f"PPO, {TIMESTEPS:,} steps each, {ROUNDS} alternating rounds, medians\n")
    print("| environment | one run, steps/s | two at once, total | ratio | ratio without the lab |")
    print("|---|---|---|---|---|")
    with measured_lab(RL_LAB_WORKERS="2") as lab:
        for env_id in TASKS:
            _measure(lab, env_id)


def _measure(lab: MeasuredLab, env_id: str) -> None:
    alone, together, ratios, bare = [], [], [], []
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, env_id)
        alone.append(_speed(lab, env_id, seed, runs=1))
        together.append(_speed(lab, env_id, seed, runs=2))
        ratios.append(together[-1] / alone[-1])
        bare.append(_bare_speed(env_id, seed, runs=2) / _bare_speed(env_id, seed, runs=1))
    progress(ROUNDS, ROUNDS, env_id)
    speeds = (f"{statistics.median(column):,.0f}" for column in (alone, together))
    shares = (f"{statistics.median(column):.2f}" for column in (ratios, bare))
    print(f"| {' | '.join((env_id, *speeds, *shares))} |", flush=True)


def _speed(lab: MeasuredLab, env_id: str, seed: int, *, runs: int) -> float:
    started = [lab.start(**_request(env_id, seed + n)) for n in range(runs)]
    done = [lab.wait(run_id) for run_id in started]
    return sum(run["timesteps"] / run["elapsed_s"] for run in done)


def _bare_speed(env_id: str, seed: int, *, runs: int) -> float:
    def train(n: int) -> float:
        return speed_of("ours", cold=True, **_request(env_id, seed + n)).per_second

    with ThreadPoolExecutor(runs) as several:
        return sum(several.map(train, range(runs)))


def _request(env_id: str, seed: int) -> dict[str, str | int]:
    what = {"env_id": env_id, "algorithm": "PPO"}
    return {**what, "total_timesteps": TIMESTEPS, "seed": seed}
