"""Run all benchmarks, or those with the given names: `python -m benchmarks [NAME ...]`."""

import platform
import sys
from importlib.metadata import version

import psutil

from benchmarks import doctor
from benchmarks.interface import (
    browsers,
    chart_cost,
    compare_cost,
    editor_open,
    first_frame,
    first_page,
    history_page,
    live_view,
)
from benchmarks.server import (
    bundle_memory,
    event_loop,
    many_listeners,
    queue,
    run_list,
    web_memory,
    worker_start,
)
from benchmarks.training import (
    array_stepping,
    engine_cost,
    envpool,
    evaluation_cost,
    fast_engine,
    learning_curves,
    peers,
    random_scores,
    reward_cost,
    solved,
    two_runs,
)

BENCHMARKS = {
    module.__name__.rpartition(".")[2]: module.run
    for module in (
        first_page,
        first_frame,
        worker_start,
        browsers,
        live_view,
        event_loop,
        engine_cost,
        fast_engine,
        array_stepping,
        envpool,
        evaluation_cost,
        reward_cost,
        learning_curves,
        solved,
        peers,
        random_scores,
        two_runs,
        many_listeners,
        run_list,
        history_page,
        queue,
        web_memory,
        bundle_memory,
        chart_cost,
        compare_cost,
        editor_open,
        doctor,
    )
}
PACKAGES = ("torch", "stable-baselines3", "gymnasium", "numpy", "nicegui")


def main(names: list[str]) -> None:
    """Print the machine and library versions, then each benchmark's table."""
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
