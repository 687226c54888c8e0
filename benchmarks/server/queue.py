"""Does the queue lose time or results? Eight runs on two workers, compared with a single pair."""

import time

from benchmarks.lab import MeasuredLab, measured_lab, option, progress

RUNS = 8
WORKERS = 2
TIMESTEPS = option("TIMESTEPS", 20_480)


def run() -> None:
    """Print the duration of the queue relative to pairs of runs, and incomplete runs."""
    print(f"PPO on CartPole-v1, {TIMESTEPS:,} steps each, {WORKERS} workers\n")
    with measured_lab(RL_LAB_WORKERS=str(WORKERS)) as lab:
        pair_s, _ = _train(lab, WORKERS, "one pair")
        time.sleep(12)  # until workers have been started ahead again
        all_s, run_ids = _train(lab, RUNS, "the queue")
        lost = [problem for run_id in run_ids if (problem := _problem(lab, run_id))]
    print("| one pair s | all s | all / pairs | complete runs |")
    print("|---|---|---|---|")
    ratio = all_s / (pair_s * RUNS / WORKERS)
    print(f"| {pair_s:.1f} | {all_s:.1f} | {ratio:.2f} | {RUNS - len(lost)} of {RUNS} |")
    for problem in lost:
        print(f"\nincomplete: {problem}")


def _train(lab: MeasuredLab, count: int, what: str) -> tuple[float, list[str]]:
    began = time.perf_counter()
    run_ids = [
        lab.start(env_id="CartPole-v1", algorithm="PPO", total_timesteps=TIMESTEPS, seed=seed)
        for seed in range(count)
    ]
    for done, run_id in enumerate(run_ids):
        progress(done, count, what)
        lab.wait(run_id)
    progress(count, count, what)
    return time.perf_counter() - began, run_ids


def _problem(lab: MeasuredLab, run_id: str) -> str | None:
    run = lab.get(run_id)
    if run["status"] != "completed" or run["timesteps"] < TIMESTEPS:
        return f"{run_id} is {run['status']} after {run['timesteps']} steps"
    lines = lab.api.get(f"/runs/{run_id}/metrics").json()["items"]
    if [line["n"] for line in lines] != list(range(1, len(lines) + 1)):
        return f"lines of {run_id}"
    episodes = [line["episode"] for line in lines if "reward" in line]
    if episodes != list(range(1, run["episodes"] + 1)):
        return f"episodes of {run_id}"
    return None
