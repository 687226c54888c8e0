import json
import signal
import socket
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import free_port
from tests.lab_server import LabServer, is_alive, run_main_to_its_end, wait_until

pytestmark = pytest.mark.slow

Start = Callable[..., LabServer]

LONG: dict[str, Any] = {
    "total_timesteps": 5_000_000,
    "hyperparameters": {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]},
    "start": True,
}


def the_worker(lab: LabServer) -> psutil.Process:
    """Return the one that trains, once those that drew pictures have ended."""
    wait_until(lambda: len(lab.workers()) == 1)
    return lab.workers()[0]


def test_a_killed_worker_interrupts_its_run_and_nothing_shown_is_lost(start_server: Start) -> None:
    lab = start_server()
    run = lab.create(**LONG)
    shown = lab.wait_for_steps(run["id"], 5_000)
    lines = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]

    worker = the_worker(lab)
    worker.kill()
    ended = lab.wait_for(run["id"], "interrupted")

    assert "ended from outside (SIGKILL)" in ended["error"]
    assert ended["timesteps"] >= shown["timesteps"]
    kept = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    assert kept[: len(lines)] == lines
    assert lab.train(total_timesteps=500)["status"] == "completed"


def test_a_killed_server_leaves_no_worker_and_marks_the_run(
    start_server: Start, tmp_path: Path
) -> None:
    first = start_server(tmp_path / "lab")
    run = first.create(**LONG)
    waiting = first.create(**LONG)
    first.wait_for_steps(run["id"], 5_000)
    lines = first.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    workers = first.workers()

    first.kill()
    wait_until(lambda: not any(is_alive(worker) for worker in workers))
    second = start_server(tmp_path / "lab")

    assert second.get(run["id"])["status"] == "interrupted"
    assert "server ended" in second.get(run["id"])["error"]
    kept = second.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    assert kept[: len(lines)] == lines
    # What waited in the queue is next.
    assert second.wait_for(waiting["id"], "running")["status"] == "running"


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_asked_to_end_keeps_the_models(
    start_server: Start, tmp_path: Path, sign: signal.Signals
) -> None:
    lab = start_server(tmp_path / "lab")
    run = lab.create(**LONG)
    lab.wait_for_steps(run["id"], 2_000)
    workers = lab.workers()

    output = lab.terminate(sign)

    assert "Traceback" not in output
    assert not any(is_alive(worker) for worker in workers)
    again = start_server(tmp_path / "lab")
    ended = again.get(run["id"])
    assert ended["status"] == "interrupted"
    assert "The model was kept" in ended["error"]
    assert "model.zip" in {artifact["name"] for artifact in ended["artifacts"]}


def test_a_silent_worker_is_ended_with_the_reason(start_server: Start) -> None:
    lab = start_server(RL_LAB_WORKER_SILENCE="5")
    run = lab.create(**LONG)
    lab.wait_for_steps(run["id"], 1_000)

    worker = the_worker(lab)
    worker.suspend()
    ended = lab.wait_for(run["id"], "failed")

    assert "no sign of life for 5 s" in ended["error"]
    assert not is_alive(worker)


def test_a_worker_out_of_memory_fails_alone(start_server: Start) -> None:
    lab = start_server(RL_LAB_WORKER_MEMORY="512")
    huge = {"buffer_size": 5_000_000, "net_arch": [8]}

    ended = lab.train(algorithm="DQN", env_id="LunarLander-v3", hyperparameters=huge)

    assert ended["status"] == "failed"
    assert "memory" in ended["error"].lower()
    assert "Traceback" not in ended["error"]
    assert lab.api.get("/health").json()["workers"]["active"] == 0


def test_a_full_disk_interrupts_the_run(start_server: Start) -> None:
    lab = start_server()
    run = lab.create(**LONG)
    lab.wait_for_steps(run["id"], 1_000)

    # The folder goes away under the run: the next write of a file fails as on a broken disk.
    folder = lab.folder / run["id"]
    folder.rename(folder.with_name("taken-away"))
    lab.api.post(f"/runs/{run['id']}/stop")
    ended = lab.wait_for(run["id"], "interrupted", "stopped")

    assert ended["status"] == "interrupted"
    assert "can't be written" in ended["error"]


def test_a_folder_that_another_server_uses_is_refused(server: LabServer) -> None:
    code, output = run_main_to_its_end("--runs-dir", str(server.folder), "--port", str(free_port()))

    assert code == 2
    assert "in use by another server" in output
    assert len(output.strip().splitlines()) == 1


def test_a_port_in_use_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code, output = run_main_to_its_end("--runs-dir", str(tmp_path), "--port", str(port))

    assert code == 2
    assert f"Port {port} on 127.0.0.1 is in use" in output
    assert len(output.strip().splitlines()) == 1


def test_a_database_of_a_newer_version_is_refused(start_server: Start, tmp_path: Path) -> None:
    start_server(tmp_path / "lab").terminate()
    with sqlite3.connect(tmp_path / "lab" / "lab.db") as database:
        database.execute("UPDATE schema_version SET version = 99")

    code, output = run_main_to_its_end(
        "--runs-dir", str(tmp_path / "lab"), "--port", str(free_port())
    )

    assert code == 2
    assert "version 99" in output


def test_the_network_is_refused_without_accounts(tmp_path: Path) -> None:
    flags = ("--host", "0.0.0.0", "--auth", "off", "--runs-dir", str(tmp_path))
    code, output = run_main_to_its_end(*flags)

    assert code == 2
    assert "--auth off serves this machine only" in output


def test_a_run_folder_holds_everything_to_repeat_it(server: LabServer) -> None:
    run = server.train(total_timesteps=300, seed=11)

    config = json.loads((server.folder / run["id"] / "config.json").read_text())

    assert config["seed"] == 11
    assert config["hyperparameters"]["gamma"] == 0.99
    assert config == run["config"]
