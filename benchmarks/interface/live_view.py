"""Do viewers slow training down?

Training speed in the app with 0, 1 and 5 viewers, compared with the same engine and hyperparameters
without the app, alternately.
"""

import statistics
from typing import Any

from benchmarks.lab import MeasuredLab, measured_lab, option, progress, speed_of

TIMESTEPS = {"CartPole-v1": 409_600, "LunarLander-v3": 204_800}
ROUNDS = option("ROUNDS", 4)
VIEWERS = (0, 1, 5)


def run() -> None:
    """Print the median speed of each case and its ratio to the bare one of the same round."""
    print(f"PPO, default hyperparameters, {ROUNDS} alternating rounds, median steps/s and ratio\n")
    print("| environment | bare | app, 0 viewers | 1 viewer | 5 viewers | frames/s per viewer |")
    print("|---|---|---|---|---|---|")
    with measured_lab() as lab:
        for env_id, timesteps in TIMESTEPS.items():
            _measure(lab, env_id=env_id, algorithm="PPO", total_timesteps=timesteps)


def _measure(lab: MeasuredLab, **request: Any) -> None:
    bare: list[float] = []
    watched: dict[int, list[float]] = {viewers: [] for viewers in VIEWERS}
    frame_rates: list[float] = []
    for seed in range(1, ROUNDS + 1):
        progress(seed - 1, ROUNDS, request["env_id"])
        bare.append(speed_of("ours", cold=True, **request, seed=seed).per_second)
        for viewers, speeds in watched.items():
            speed, rate = _in_the_app(lab, viewers, **request, seed=seed)
            speeds.append(speed)
        frame_rates.append(rate)
    progress(ROUNDS, ROUNDS, request["env_id"])
    cells = [request["env_id"], f"{statistics.median(bare):,.0f}"]
    for speeds in watched.values():
        ratio = statistics.median(a / b for a, b in zip(speeds, bare, strict=True))
        cells.append(f"{statistics.median(speeds):,.0f} ({ratio:.2f})")
    print(f"| {' | '.join(cells)} | {statistics.median(frame_rates):.1f} |", flush=True)


def _in_the_app(lab: MeasuredLab, viewers: int, **request: Any) -> tuple[float, float]:
    run_id = lab.start(**request)
    with lab.watched(run_id, viewers) as counts:
        run = lab.wait(run_id)
        rate = sum(counts) / max(1, viewers) / run["elapsed_s"]
    return run["timesteps"] / run["elapsed_s"], rate
