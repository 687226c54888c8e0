"""Does watching cost the trainer?

Training speed in the app, with 0 and 5 viewers, against plain Stable-Baselines3 with the same
hyperparameters, interleaved.
"""

import statistics
import time

from benchmarks.lab import MeasuredLab, bare_speed, measured_lab, progress

TIMESTEPS = {"CartPole-v1": 40_960, "LunarLander-v3": 40_960}
ROUNDS = 4
VIEWERS = 5


def run() -> None:
    """Print the median speed of each way and its ratio to the bare one of the same round."""
    print(f"PPO, default hyperparameters, {ROUNDS} rounds interleaved, median steps/s and ratio\n")
    print("| environment | bare SB3 | app, nobody watches | app, 5 watch | pictures/s per viewer |")
    print("|---|---|---|---|---|")
    with measured_lab() as lab:
        for env_id, timesteps in TIMESTEPS.items():
            _measure(lab, env_id, timesteps)


def _measure(lab: MeasuredLab, env_id: str, timesteps: int) -> None:
    bare, alone, watched, pictures = [], [], [], []
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, env_id)
        bare.append(bare_speed(env_id, "PPO", timesteps, seed).per_second)
        alone.append(_in_the_app(lab, env_id, timesteps, seed, viewers=0)[0])
        speed, rate = _in_the_app(lab, env_id, timesteps, seed, viewers=VIEWERS)
        watched.append(speed)
        pictures.append(rate)
    progress(ROUNDS, ROUNDS, env_id)
    cells = [f"{statistics.median(bare):,.0f}"]
    for speeds in (alone, watched):
        ratio = statistics.median(a / b for a, b in zip(speeds, bare, strict=True))
        cells.append(f"{statistics.median(speeds):,.0f} ({ratio:.2f})")
    print(f"| {env_id} | {' | '.join(cells)} | {statistics.median(pictures):.1f} |", flush=True)


def _in_the_app(
    lab: MeasuredLab, env_id: str, timesteps: int, seed: int, *, viewers: int
) -> tuple[float, float]:
    time.sleep(12)  # until the warm workers of the last round have their successors
    wishes = {"env_id": env_id, "algorithm": "PPO", "total_timesteps": timesteps}
    run_id = lab.start(**wishes, seed=seed, engine="sb3")
    with lab.watched(run_id, viewers) as counts:
        run = lab.wait(run_id)
        rate = sum(counts) / max(1, viewers) / run["elapsed_s"]
    return run["timesteps"] / run["elapsed_s"], rate
