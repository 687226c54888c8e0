"""A lab to measure, in a separate process, and simulated viewers."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

ROOT = Path(__file__).parent.parent
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
"""Command-line flags of Chromium."""
_SETTLE_S = 12.0
BEFORE = os.environ.get("BENCH_BEFORE")
"""A checkout of an older version to compare with, run by the same Python interpreter."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Training speed in steps per second."""

    per_second: float
    per_cpu_second: float


class MeasuredLab:
    """A running server and the API calls of benchmarks."""

    def __init__(self, url: str, pid: int, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.pid = pid
        self.api = httpx.Client(base_url=f"{url}/api", timeout=60)

    def start(self, **request: Any) -> str:
        """Create and start a run; return its id."""
        answer = self.api.post("/runs", json={**request, "start": True})
        answer.raise_for_status()
        run_id: str = answer.json()["id"]
        return run_id

    def wait(self, run_id: str) -> dict[str, Any]:
        """Wait until a run is finished and return it."""
        while True:
            run = self.get(run_id)
            if run["finished_at"]:
                return run
            time.sleep(0.5)

    def get(self, run_id: str) -> dict[str, Any]:
        """Return a run."""
        run: dict[str, Any] = self.api.get(f"/runs/{run_id}").json()
        return run

    def workers(self) -> list[psutil.Process]:
        """Return the current worker processes."""
        return list(psutil.Process(self.pid).children())

    def stop(self, run_id: str) -> None:
        """Stop a run and wait until it is finished."""
        self.api.post(f"/runs/{run_id}/stop")
        self.wait(run_id)

    @contextlib.contextmanager
    def watched(self, run_id: str, viewers: int) -> Iterator[list[int]]:
        """Watch the live view with `viewers` clients; yields the number of frames each received."""
        counts = [0] * viewers
        stop = threading.Event()
        threads = [
            threading.Thread(target=self._watch, args=(run_id, counts, i, stop), daemon=True)
            for i in range(viewers)
        ]
        for thread in threads:
            thread.start()
        yield counts
        stop.set()
        for thread in threads:
            thread.join()

    def _watch(self, run_id: str, counts: list[int], viewer: int, stop: threading.Event) -> None:
        address = f"{self.url.replace('http', 'ws')}/api/runs/{run_id}/frames"
        with contextlib.suppress(WebSocketException, OSError), connect(address) as line:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    line.recv(timeout=0.5)
                    line.send("ack")
                    counts[viewer] += 1


@contextlib.contextmanager
def measured_lab(
    *,
    wait_until_settled: bool = True,
    program: Sequence[str] = ("main.py",),
    root: Path = ROOT,
    **settings: str,
) -> Iterator[MeasuredLab]:
    """Start a lab with an empty runs folder and terminate it afterwards."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--no-browser", "--port", str(port), "--runs-dir", folder]
        process = subprocess.Popen(
            [sys.executable, *program, *flags],
            cwd=root,
            env={**os.environ, **settings},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        lab = MeasuredLab(f"http://127.0.0.1:{port}", process.pid, Path(folder))
        try:
            while True:
                with contextlib.suppress(httpx.TransportError):
                    lab.api.get("/health").raise_for_status()
                    break
                time.sleep(0.2)
            if wait_until_settled:
                time.sleep(_SETTLE_S)
            yield lab
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def labs_to_compare(**settings: str) -> Iterator[dict[str, MeasuredLab]]:
    """Start this version, and the one in BENCH_BEFORE if it is set."""
    with contextlib.ExitStack() as started:
        labs = {"now": started.enter_context(measured_lab(**settings))}
        if BEFORE:
            older = measured_lab(root=Path(BEFORE), **settings)
            labs["before"] = started.enter_context(older)
        yield labs


def speed_of(variant: str, *, cold: bool = False, **request: Any) -> Speed:
    """Train without the app in a separate process; see `one_training`."""
    command = [sys.executable, "-m", "benchmarks.training.one_training"]
    command += [variant, json.dumps(request)] + ["cold"] * cold
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return Speed(*map(float, done.stdout.split()))


def one_thread_each() -> None:
    """Limit processes started from now on to one thread each, like the lab's workers."""
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")


def chromium_path() -> str:
    """Return the path of Chromium; the headless shell renders differently and comes last."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        sys.exit("This needs Chromium: make chromium")
    return found


def option(name: str, default: int) -> int:
    """Return the environment variable BENCH_`name` as a number, or the default."""
    return int(os.environ.get(f"BENCH_{name}", default))


def progress(done: int, total: int, what: str) -> None:
    """Show a progress bar on the terminal."""
    bar = "#" * (20 * done // total)
    sys.stderr.write(f"\r[{bar:<20}] {done}/{total} {what:<40}")
    sys.stderr.write("\n" if done == total else "")
    sys.stderr.flush()
