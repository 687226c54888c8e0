"""Does the web process' memory grow with the size of a run that is exported or imported?

A short run, enlarged to a gigabyte by random files in place of its models, is downloaded as a
bundle; then one of nearly the maximum size is imported. Memory is sampled all the time.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil

from benchmarks.lab import MeasuredLab, measured_lab, option

MEGABYTES = option("MEGABYTES", 1_024)
_LARGEST_IMPORT = 480
_MB = 1 << 20


def run() -> None:
    """Print the web process' memory before, at most and after, and the duration."""
    print("| what | MB | before | maximum | after | seconds | slowest response meanwhile, ms |")
    print("|---|---|---|---|---|---|---|")
    with measured_lab() as lab:
        run_id = lab.start(env_id="CartPole-v1", algorithm="PPO", total_timesteps=500)
        lab.wait(run_id)
        _enlarge(lab, run_id, MEGABYTES)
        _measure(lab, "exported", lambda: _download(lab, run_id, None))
        _enlarge(lab, run_id, _LARGEST_IMPORT)
        bundle = lab.folder / "bundle.zip"
        _download(lab, run_id, bundle)
        _measure(lab, "imported", lambda: _upload(lab, bundle))


def _enlarge(lab: MeasuredLab, run_id: str, megabytes: int) -> None:
    for name in ("model.zip", "best.zip"):
        with (lab.folder / run_id / name).open("wb") as file:
            for _ in range(megabytes // 2):
                file.write(os.urandom(_MB))


def _download(lab: MeasuredLab, run_id: str, target: Path | None) -> int:
    address = f"{lab.url}/api/runs/{run_id}/artifacts/bundle.zip"
    size = 0
    with (
        (target or Path(os.devnull)).open("wb") as file,
        httpx.stream("GET", address, timeout=600) as answer,
    ):
        for piece in answer.iter_bytes():
            size += len(piece)
            file.write(piece)
    return size


def _upload(lab: MeasuredLab, bundle: Path) -> int:
    def pieces() -> Iterator[bytes]:
        with bundle.open("rb") as file:
            while piece := file.read(_MB):
                yield piece

    headers = {"Content-Type": "application/zip"}
    address = f"{lab.url}/api/runs/import"
    answer = httpx.post(address, content=pieces(), headers=headers, timeout=600)
    answer.raise_for_status()
    return bundle.stat().st_size


def _measure(lab: MeasuredLab, what: str, work: Callable[[], int]) -> None:
    process, megabytes, response_ms = psutil.Process(lab.pid), list[float](), list[float]()
    ended = threading.Event()

    def sample() -> None:
        with httpx.Client(base_url=lab.url, timeout=60) as client:
            while not ended.wait(0.05):
                megabytes.append(process.memory_info().rss / _MB)
                began = time.perf_counter()
                client.get("/api/health")
                response_ms.append((time.perf_counter() - began) * 1_000)

    before = process.memory_info().rss / _MB
    sampler = threading.Thread(target=sample)
    sampler.start()
    began = time.perf_counter()
    transferred = work() / _MB
    seconds = time.perf_counter() - began
    ended.set()
    sampler.join()
    after = process.memory_info().rss / _MB
    print(
        f"| {what} | {transferred:,.0f} | {before:.1f} | {max(megabytes):.1f} | {after:.1f} "
        f"| {seconds:.1f} | {max(response_ms):.0f} |"
    )
