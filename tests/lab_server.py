"""A lab in a process of its own, driven over its API as any program would."""

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

CALM = """
import time

def reward(obs, action, next_obs, reward, terminated, truncated, info):
    time.sleep({seconds})
    return reward
"""
"""A reward with which a training goes on while a test needs it, and hardly takes a processor."""

PICTURES = "TEST_PICTURES"
"""Names the folder of pictures of environments that all labs of the tests share: to draw them takes
a core for five seconds, which dozens of labs would spend beside what is tested."""
_OWN_PICTURES = tempfile.TemporaryDirectory()

# To read the certificates of this machine takes tens of milliseconds, for each client anew.
CERTIFICATES = ssl.create_default_context()


class LabServer:
    def __init__(
        self, folder: Path, port: int, *, verify: ssl.SSLContext | None = None, **settings: str
    ) -> None:
        self.folder = folder
        self.url = f"{'https' if verify else 'http'}://127.0.0.1:{port}"
        self._certificates = verify or CERTIFICATES
        self.api = self._client()
        self._environment = _environment(
            RL_LAB_RUNS=str(folder), RL_LAB_PORT=str(port), RL_LAB_BROWSER="0", **settings
        )
        self.process: psutil.Process
        self._output = folder.with_name(f"{folder.name}.output")

    def _client(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/api", timeout=30, verify=self._certificates)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Self:
        share_pictures(self.folder)
        self._output.write_text("")
        self.process = fork_main(self._environment, self._output)
        wait_until(self._answers, within=60)
        return self

    @property
    def printed(self) -> str:
        """What it printed since it started."""
        return self._output.read_text()

    def _answers(self) -> bool:
        assert is_alive(self.process), self.printed
        try:
            return self.api.get("/health").status_code == 200
        except httpx.TransportError:
            return False

    def terminate(self, sign: signal.Signals = signal.SIGTERM) -> str:
        """Ask it to end and return everything it printed."""
        self.process.send_signal(sign)
        self.process.wait(timeout=30)
        self.api.close()
        return self.printed

    def kill(self) -> None:
        """End the server alone, as a crash would; its workers have to notice."""
        if is_alive(self.process):
            self.process.kill()
            self.process.wait()
        self.api.close()

    def restart(self, **settings: str) -> None:
        """Start again on the same folder and port, with other settings if there are any."""
        self._environment |= settings
        self.api = self._client()
        self.start()

    def create(self, **wishes: Any) -> dict[str, Any]:
        body = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 2_000, **wishes}
        answer = self.api.post("/runs", json=body)
        assert answer.status_code == 201, answer.text
        run: dict[str, Any] = answer.json()
        return run

    def train(self, **wishes: Any) -> dict[str, Any]:
        """Create a run, start it and wait for its end."""
        run = self.create(start=True, **wishes)
        return self.wait_for(run["id"], *ENDS)

    def get(self, run_id: str) -> dict[str, Any]:
        run: dict[str, Any] = self.api.get(f"/runs/{run_id}").json()
        return run

    def wait_for(self, run_id: str, *statuses: str, within: float = 90) -> dict[str, Any]:
        """Wait for one of the statuses; another end of the run is told at once."""
        wait_until(lambda: self.get(run_id)["status"] in {*statuses, *ENDS}, within=within)
        run = self.get(run_id)
        assert run["status"] in statuses, run
        return run

    def wait_for_steps(self, run_id: str, steps: int = 1) -> dict[str, Any]:
        wait_until(lambda: self.get(run_id)["timesteps"] >= steps, within=90)
        return self.get(run_id)

    def stop_all(self) -> None:
        """Stop what earlier tests left training or waiting."""
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
    """Server-sent events, taken apart."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()

    def __iter__(self) -> Iterator[dict[str, str]]:
        event: dict[str, str] = {}
        for line in self._lines:
            if line.startswith(":"):
                continue  # A comment: a keep-alive is one.
            if line:
                name, _, value = line.partition(": ")
                event[name] = value
            elif event:
                yield event
                event = {}


def share_pictures(folder: Path) -> None:
    """Have a lab in this folder keep its pictures of environments where all labs do."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".previews").exists():
        (folder / ".previews").symlink_to(os.environ.get(PICTURES, _OWN_PICTURES.name))


def start_main(*flags: str, **settings: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "main.py", *flags],
        cwd=ROOT,
        env=_environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_main_to_its_end(*flags: str, within: float = 60, **settings: str) -> tuple[int, str]:
    process = start_main(*flags, **settings)
    try:
        output = process.communicate(timeout=within)[0]
    finally:
        end(process)
    return process.returncode, output


def end(process: subprocess.Popen[str]) -> None:
    """Leave nothing behind, however a test ended."""
    if process.poll() is None:
        process.kill()
        process.communicate()


def _environment(**settings: str) -> dict[str, str]:
    """What a person's shell would give; clips only where wanted."""
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
    """Ask again and again, at first soon and then less often: to ask takes a processor, too."""
    deadline, pause = time.monotonic() + within, 0.01
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(pause)
        pause = min(1.4 * pause, 0.2)
