"""Does the web process stay responsive?

The lag of its event loop while two workers train and ten viewers watch, and while idle.
"""

import time

from benchmarks.lab import measured_lab, progress

WINDOW_S = 65
"""The lag covers the last minute: after this time it covers only the load."""


def run() -> None:
    """Print the lag while idle and under load."""
    print("| state | lag p50 ms | lag p99 ms | frames/s per viewer |")
    print("|---|---|---|---|")
    with measured_lab(RL_LAB_WORKERS="2") as lab:
        _wait("idle")
        lag = lab.api.get("/health").json()["event_loop_lag_ms"]
        print(f"| idle | {lag['p50']} | {lag['p99']} | - |")
        runs = [
            lab.start(env_id=env_id, algorithm="PPO", total_timesteps=50_000_000)
            for env_id in ("CartPole-v1", "LunarLander-v3")
        ]
        with lab.watched(runs[0], 5) as first, lab.watched(runs[1], 5) as second:
            _wait("two train, ten watch")
            lag = lab.api.get("/health").json()["event_loop_lag_ms"]
            rate = (sum(first) + sum(second)) / 10 / WINDOW_S
        print(f"| two train, ten watch | {lag['p50']} | {lag['p99']} | {rate:.1f} |")
        for run_id in runs:
            lab.stop(run_id)


def _wait(what: str) -> None:
    for second in range(WINDOW_S):
        progress(second, WINDOW_S, what)
        time.sleep(1)
    progress(WINDOW_S, WINDOW_S, what)
