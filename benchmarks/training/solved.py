"""Time until solved: the Fast presets, through the app, with one viewer.

Solved means that the mean reward of the last 100 episodes reaches the environment's threshold. Time
is measured from the request that starts the run until a client sees that it is solved.
"""

import statistics
import time

from benchmarks.lab import MeasuredLab, measured_lab, option, progress

TASKS = {"CartPole-v1": 10, "LunarLander-v3": 60}
"""Environments, and the target for the median seconds until solved."""
SEEDS = option("SEEDS", 5)
_LOOK_EVERY_S = 0.1


def run() -> None:
    """Print the seconds of each seed and their median."""
    print(f"PPO, preset Fast, seeds 1 to {SEEDS}, one viewer; seconds until solved\n")
    print("| environment | median s | each seed | steps of each seed | target s |")
    print("|---|---|---|---|---|")
    with measured_lab() as lab:
        for env_id, target in TASKS.items():
            _measure(lab, env_id, target)


def _measure(lab: MeasuredLab, env_id: str, target: int) -> None:
    found: list[tuple[float, int] | None] = []
    for seed in range(1, SEEDS + 1):
        progress(seed - 1, SEEDS, env_id)
        found.append(_train(lab, env_id, seed))
    progress(SEEDS, SEEDS, env_id)
    seconds = [float("inf") if one is None else one[0] for one in found]
    each = ", ".join("not solved" if one is None else f"{one[0]:.1f}" for one in found)
    steps = ", ".join("-" if one is None else f"{one[1]:,}" for one in found)
    median = statistics.median(seconds)
    print(f"| {env_id} | {median:.1f} | {each} | {steps} | {target} |", flush=True)


def _train(lab: MeasuredLab, env_id: str, seed: int) -> tuple[float, int] | None:
    """Return the seconds and steps until a run was solved, or None if it never was."""
    began = time.perf_counter()
    run_id = lab.start(env_id=env_id, algorithm="PPO", preset="fast", seed=seed)
    with lab.watched(run_id, viewers=1):
        while not (run := lab.get(run_id))["finished_at"]:
            if run["solved_at"] is not None:
                break
            time.sleep(_LOOK_EVERY_S)
        duration = time.perf_counter() - began
    if not run["finished_at"]:
        lab.stop(run_id)
    return None if run["solved_at"] is None else (duration, run["solved_at"])
