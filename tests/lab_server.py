"""A lab in a separate process, used over its API."""

import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import psutil

from app.worker.fork_server import WORKER_NAME
from tests.server_forks import ROOT, fork_main, shell_variables

ENDS = {"completed", "stopped", "failed", "interrupted"}

SLEEPING_REWARD = """
import time

def reward(obs, action, next_obs, reward, terminated, truncated, info):
    time.sleep({seconds})
    return reward
"""
"""A reward that slows training down as much as a test needs and takes little CPU time."""

PREVIEWS = "TEST_PREVIEWS"
"""Variable with the folder of preview images that all test labs share: rendering them takes a core
for five seconds, which dozens of labs would repeat."""
_OWN_PREVIEWS = tempfile.TemporaryDirectory()

# Loading this machine's certificates takes tens of milliseconds; all clients share them.
CERTIFICATES = ssl.create_default_context()


class LabServer:
    def __init__(
        self, folder: Path, port: int, *, verify: ssl.SSLContext | None = None, **settings: str
    ) -> None:
        self.folder = folder
        self.url = f"{'https' if verify else 'http'}://127.0.0.1:{port}"
        self._ssl_context = verify or CERTIFICATES
        self.api = self._client()
        self._environment = _environment(
            RL_LAB_RUNS=str(folder), RL_LAB_PORT=str(port), RL_LAB_BROWSER="0", **settings
        )
        self.process: psutil.Process
        self._output = folder.with_name(f"{folder.name}.output")

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/api", timeout=30, verify=self._ssl_context)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Self:
        share_previews(self.folder)
        self._output.write_text("")
        self.process = fork_main(self._environment, self._output)
        wait_until(self._answers, within=60)
        return self

    @property
    def printed(self) -> str:
        """The output of the server since its last start."""
        return self._output.read_text()

    def _answers(self) -> bool:
        assert is_alive(self.process), self.printed
        try:
            return self.api.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def terminate(self, sign: signal.Signals = signal.SIGTERM) -> str:
        """Send a signal, wait for the end and return the output."""
        self.process.send_signal(sign)
        self.process.wait(timeout=30)
        self.api.close()
        return self.printed

    def kill(self) -> None:
        """Kill only the server process, like a crash; its workers have to notice."""
        if is_alive(self.process):
            self.process.kill()
            self.process.wait()
        self.api.close()

    def restart(self, **settings: str) -> None:
        """Start again with the same folder and port, and with other settings if given."""
        self._environment |= settings
        self.api = self._client()
        self.start()

    def create(self, **options: Any) -> dict[str, Any]:
        body = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 2_000, **options}
        answer = self.api.post("/runs", json=body)
        assert answer.status_code == 201, answer.text
        run: dict[str, Any] = answer.json()
        return run

    def train(self, **options: Any) -> dict[str, Any]:
        """Create a run, start it and wait for its end."""
        run = self.create(start=True, **options)
        return self.wait_for(run["id"], *ENDS)

    def get(self, run_id: str) -> dict[str, Any]:
        run: dict[str, Any] = self.api.get(f"/runs/{run_id}").json()
        return run

    def wait_for(self, run_id: str, *statuses: str, within: float = 90) -> dict[str, Any]:
        """Wait for one of the statuses; fail at once if the run ends with another."""
        wait_until(lambda: self.get(run_id)["status"] in {*statuses, *ENDS}, within=within)
        run = self.get(run_id)
        assert run["status"] in statuses, run
        return run

    def wait_for_steps(self, run_id: str, steps: int = 1) -> dict[str, Any]:
        wait_until(lambda: self.get(run_id)["timesteps"] >= steps, within=90)
        return self.get(run_id)

    def stop_all(self) -> None:
        """Stop the runs that earlier tests left active or queued."""
        for run in self.api.get("/runs", params={"limit": 500}).json()["items"]:
            if run["status"] not in {*ENDS, "created"}:
                self.api.post(f"/runs/{run['id']}/stop")
                self.wait_for(run["id"], *ENDS)

    def messages(self, run_id: str) -> list[str]:
        """Return the event log, oldest first."""
        items = self.api.get(f"/runs/{run_id}/events").json()["items"]
        return [event["message"] for event in reversed(items)]

    def workers(self) -> list[psutil.Process]:
        """Return the workers of the server."""
        children = psutil.Process(self.process.pid).children()
        return [child for child in children if is_worker(child)]

    @contextmanager
    def stream(self, path: str, **headers: str) -> Iterator["EventStream"]:
        with self.api.stream("GET", path, headers=headers) as response:
            assert response.status_code == 200
            yield EventStream(response)


class EventStream:
    """Parsed server-sent events."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()

    def __iter__(self) -> Iterator[dict[str, str]]:
        event: dict[str, str] = {}
        for line in self._lines:
            if line.startswith(":"):
                continue  # A comment, such as a keep-alive.
            if line:
                name, _, value = line.partition(": ")
                event[name] = value
            elif event:
                yield event
                event = {}


def share_previews(folder: Path) -> None:
    """Link the preview images of a lab in this folder to those of all test labs."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".previews").exists():
        (folder / ".previews").symlink_to(os.environ.get(PREVIEWS, _OWN_PREVIEWS.name))


def start_main(*flags: str, **settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "main.py", *flags],
        cwd=ROOT,
        env=_environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_main(*flags: str, within: float = 60, **settings: str) -> tuple[int, str]:
    process = start_main(*flags, **settings)
    try:
        output = process.communicate(timeout=within)[0]
    finally:
        end(process)
    return process.returncode, output


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process if it still runs, however the test ended."""
    if process.poll() is None:
        process.kill()
        process.communicate()


def _environment(**settings: str) -> dict[str, str]:
    """Return the variables of a user's shell and settings, with clips off by default."""
    return {**shell_variables(), "RL_LAB_CLIPS": "0", **settings}


def is_worker(process: psutil.Process) -> bool:
    try:
        return bool(process.name() == WORKER_NAME and is_alive(process))
    except psutil.NoSuchProcess:
        return False


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], *, within: float = 30) -> None:
    """Poll a condition, at first often, then less: polling takes CPU time, too."""
    deadline, pause = time.monotonic() + within, 0.01
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(pause)
        pause = min(1.4 * pause, 0.2)
