"""What does the lab cost a training that nobody watches?

Plain Stable-Baselines3 against the lab's worker, which reports, keeps checkpoints and is locked in;
same environments, hyperparameters and seeds, in turn.
"""

import statistics
import time

import psutil

from benchmarks.lab import MeasuredLab, Speed, bare_speed, measured_lab, progress, wish

CASES = (("CartPole-v1", "PPO"), ("LunarLander-v3", "PPO"), ("CartPole-v1", "DQN"))
TIMESTEPS = wish("TIMESTEPS", 40_960)
ROUNDS = wish("ROUNDS", 5)
_LOOK_EVERY_S = 0.02


def run() -> None:
    """Print the median speeds and ratios of each case, and the ratio of all together."""
    print(f"{TIMESTEPS:,} steps, {ROUNDS} rounds in turn, medians; ratio = lab / bare\n")
    print("| training | bare steps/s | lab steps/s | ratio | ratio per processor second |")
    print("|---|---|---|---|---|")
    all_ratios: list[float] = []
    with measured_lab(RL_LAB_WARM_WORKERS="1") as lab:
        for env_id, algorithm in CASES:
            all_ratios += _measure(lab, env_id, algorithm)
    together = statistics.geometric_mean(all_ratios)
    print(f"\nlab / bare per processor second, all together: {together:.3f} (target: 0.97)")


def _measure(lab: MeasuredLab, env_id: str, algorithm: str) -> list[float]:
    bare, ours = [], []
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, f"{algorithm} on {env_id}")
        bare.append(bare_speed(env_id, algorithm, TIMESTEPS, seed))
        ours.append(_in_the_lab(lab, env_id, algorithm, seed))
    progress(ROUNDS, ROUNDS, f"{algorithm} on {env_id}")
    pairs = list(zip(ours, bare, strict=True))
    ratios = [our.per_cpu_second / plain.per_cpu_second for our, plain in pairs]
    cells = (
        f"{algorithm} on {env_id}",
        f"{statistics.median(plain.per_second for plain in bare):,.0f}",
        f"{statistics.median(our.per_second for our in ours):,.0f}",
        f"{statistics.median(our.per_second / plain.per_second for our, plain in pairs):.3f}",
        f"{statistics.median(ratios):.3f}",
    )
    print(f"| {' | '.join(cells)} |", flush=True)
    return ratios


def _in_the_lab(lab: MeasuredLab, env_id: str, algorithm: str, seed: int) -> Speed:
    time.sleep(12)  # until there is a warm worker again
    used = {worker: _seconds_used(worker) for worker in lab.workers()}
    wishes = {"env_id": env_id, "algorithm": algorithm, "total_timesteps": TIMESTEPS}
    # The engine that the bare one is: what is measured is everything around it.
    run_id = lab.start(**wishes, seed=seed, engine="sb3")
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
