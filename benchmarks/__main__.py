"""Run all benchmarks, or the one that is named: `python -m benchmarks [NAME]`."""

import platform
import sys
from importlib.metadata import version

import psutil

from benchmarks import (
    array_stepping,
    browsers,
    bundle_memory,
    chart_cost,
    compare_cost,
    doctor,
    editor_open,
    engine_cost,
    event_loop,
    fast_engine,
    first_frame,
    first_page,
    history_page,
    learning_curves,
    live_view,
    many_listeners,
    peers,
    queue,
    reward_cost,
    run_list,
    solved,
    two_runs,
    web_memory,
    worker_start,
)

BENCHMARKS = {
    "first_page": first_page.run,
    "first_frame": first_frame.run,
    "worker_start": worker_start.run,
    "browsers": browsers.run,
    "live_view": live_view.run,
    "event_loop": event_loop.run,
    "engine_cost": engine_cost.run,
    "fast_engine": fast_engine.run,
    "array_stepping": array_stepping.run,
    "reward_cost": reward_cost.run,
    "learning_curves": learning_curves.run,
    "solved": solved.run,
    "peers": peers.run,
    "two_runs": two_runs.run,
    "many_listeners": many_listeners.run,
    "run_list": run_list.run,
    "history_page": history_page.run,
    "queue": queue.run,
    "web_memory": web_memory.run,
    "bundle_memory": bundle_memory.run,
    "chart_cost": chart_cost.run,
    "compare_cost": compare_cost.run,
    "editor_open": editor_open.run,
    "doctor": doctor.run,
}
PACKAGES = ("torch", "stable-baselines3", "gymnasium", "numpy", "nicegui")


def main(names: list[str]) -> None:
    """Print the machine, then each benchmark's table."""
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        sys.exit(f"Unknown benchmark {unknown.pop()!r}. Choose from: {', '.join(BENCHMARKS)}.")
    print(f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GiB, ", end="")
    print(f"Python {platform.python_version()}, ", end="")
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
    print(f"load average at the start: {psutil.getloadavg()[0]:.1f}\n")
    for name in names or BENCHMARKS:
        print(f"## {name}\n")
        BENCHMARKS[name]()
        print(flush=True)


main(sys.argv[1:])
