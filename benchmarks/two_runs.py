"""Do two trainings on two cores do twice the work of one?"""

import statistics
import time

from benchmarks.lab import MeasuredLab, measured_lab, progress, wish

TASKS = ("CartPole-v1", "LunarLander-v3")
TIMESTEPS = wish("TIMESTEPS", 200_000)
ROUNDS = wish("ROUNDS", 3)
_WARM_AGAIN_S = 20


def run() -> None:
    """Print the steps per second of one run, of two at once together, and the ratio."""
    print(f"PPO, {TIMESTEPS:,} steps each, {ROUNDS} rounds in turn, medians\n")
    print("| environment | one run, steps/s | two at once, together | ratio |")
    print("|---|---|---|---|")
    with measured_lab(RL_LAB_WORKERS="2", RL_LAB_WARM_WORKERS="2") as lab:
        for env_id in TASKS:
            _measure(lab, env_id)


def _measure(lab: MeasuredLab, env_id: str) -> None:
    alone, together = [], []
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, env_id)
        alone.append(_speed(lab, env_id, seed, runs=1))
        together.append(_speed(lab, env_id, seed, runs=2))
    progress(ROUNDS, ROUNDS, env_id)
    ratio = statistics.median(both / one for both, one in zip(together, alone, strict=True))
    one, both = statistics.median(alone), statistics.median(together)
    print(f"| {env_id} | {one:,.0f} | {both:,.0f} | {ratio:.2f} |", flush=True)


def _speed(lab: MeasuredLab, env_id: str, seed: int, *, runs: int) -> float:
    time.sleep(_WARM_AGAIN_S)
    wishes = {"env_id": env_id, "algorithm": "PPO", "total_timesteps": TIMESTEPS}
    started = [lab.start(**wishes, seed=seed + n) for n in range(runs)]
    done = [lab.wait(run_id) for run_id in started]
    return sum(run["timesteps"] / run["elapsed_s"] for run in done)
