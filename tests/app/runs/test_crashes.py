import json
import signal
import socket
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from storage.database.database import open_database
from tests.app.runs.test_outages import are_without_gaps, lines_of, resume_and_complete
from tests.conftest import free_port
from tests.lab_server import (
    SLEEPING_REWARD,
    LabServer,
    end,
    is_alive,
    run_main,
    start_main,
    wait_until,
)

pytestmark = pytest.mark.slow

LONG: dict[str, Any] = {
    "total_timesteps": 5_000_000,
    "hyperparameters": {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]},
    "start": True,
}
SLOW_RUN = {**LONG, "reward_code": SLEEPING_REWARD.format(seconds=0.001)}


@pytest.fixture
def lab(own_server: LabServer) -> LabServer:
    own_server.stop_all()
    return own_server


def training_worker(lab: LabServer) -> psutil.Process:
    """Return the worker that trains, once those that render previews have ended."""
    wait_until(lambda: len(lab.workers()) == 1)
    return lab.workers()[0]


def test_a_killed_worker_interrupts_its_run_and_no_published_metrics_are_lost(
    lab: LabServer,
) -> None:
    run = lab.create(**LONG)
    before = lab.wait_for_steps(run["id"], 5_000)
    lines = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]

    worker = training_worker(lab)
    worker.kill()
    ended = lab.wait_for(run["id"], "interrupted")

    assert "killed from outside (SIGKILL)" in ended["error"]
    assert ended["timesteps"] >= before["timesteps"]
    kept = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    assert kept[: len(lines)] == lines
    assert lab.train(total_timesteps=500)["status"] == "completed"


def test_a_killed_server_leaves_no_worker_and_its_runs_can_be_resumed(lab: LabServer) -> None:
    runs = [lab.create(**LONG, seed=seed)["id"] for seed in (1, 2)]
    waiting = lab.create(**LONG)
    for run_id in runs:
        lab.wait_for_steps(run_id, 5_000)
    wait_until(lambda: any(steps_of_checkpoints(lab, runs[0])), within=60)
    lines_before = {run_id: lines_of(lab, run_id) for run_id in runs}
    workers = lab.workers()

    lab.kill()
    wait_until(lambda: not any(is_alive(worker) for worker in workers))
    half = lab.folder / runs[0] / "checkpoints" / ".9999.zip.01234567.part"
    half.write_bytes(b"half a checkpoint")
    lab.restart()

    assert not half.exists()
    # The queued run starts next.
    assert lab.wait_for(waiting["id"], "running")["status"] == "running"
    for run_id in runs:
        ended = lab.get(run_id)
        assert ended["status"] == "interrupted"
        assert "server ended" in ended["error"]
        assert lines_of(lab, run_id)[: len(lines_before[run_id])] == lines_before[run_id]
    assert "It can be resumed from step " in lab.get(runs[0])["error"]
    lab.stop_all()
    for run_id in runs:
        resume_and_complete(lab, run_id)
        assert are_without_gaps(lines_of(lab, run_id))
        assert sum("were dropped" in text for text in lab.messages(run_id)) == 1


def steps_of_checkpoints(lab: LabServer, run_id: str) -> list[int]:
    items = lab.api.get(f"/runs/{run_id}/artifacts").json()["items"]
    return [one["timesteps"] for one in items if one["kind"] == "checkpoint"]


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_receives_a_signal_saves_the_models(
    lab: LabServer, sign: signal.Signals
) -> None:
    run = lab.create(**SLOW_RUN)
    lab.wait_for_steps(run["id"], 500)
    workers = lab.workers()

    output = lab.terminate(sign)

    assert "Traceback" not in output
    assert not any(is_alive(worker) for worker in workers)
    lab.restart()
    ended = lab.get(run["id"])
    assert ended["status"] == "interrupted"
    assert "The model was saved" in ended["error"]
    assert "model.zip" in {artifact["name"] for artifact in ended["artifacts"]}


def test_a_silent_worker_is_killed_and_its_run_fails_with_the_reason(lab: LabServer) -> None:
    run = lab.create(**SLOW_RUN)
    lab.wait_for_steps(run["id"], 500)

    worker = training_worker(lab)
    worker.suspend()
    ended = lab.wait_for(run["id"], "failed")

    assert "silent for 5 s" in ended["error"]
    assert not is_alive(worker)


def test_a_worker_out_of_memory_fails_only_its_own_run(lab: LabServer) -> None:
    huge = {"buffer_size": 5_000_000, "net_arch": [8]}

    ended = lab.train(algorithm="DQN", env_id="LunarLander-v3", hyperparameters=huge)

    assert ended["status"] == "failed"
    assert "memory" in ended["error"].lower()
    assert "Traceback" not in ended["error"]
    assert lab.api.get("/health").json()["workers"]["active"] == 0


def test_a_full_disk_interrupts_the_run(lab: LabServer) -> None:
    run = lab.create(**SLOW_RUN)
    lab.wait_for_steps(run["id"], 500)

    # The folder of the run is moved away: the next write fails as on a broken disk.
    folder = lab.folder / run["id"]
    folder.rename(folder.with_name("taken-away"))
    lab.api.post(f"/runs/{run['id']}/stop")
    ended = lab.wait_for(run["id"], "interrupted", "stopped")

    assert ended["status"] == "interrupted"
    assert "can't be written" in ended["error"]


def test_the_program_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """Start it as the README does; all other servers of the tests are forked after the imports."""
    port = free_port()
    process = start_main("--runs-dir", str(tmp_path), "--port", str(port), RL_LAB_BROWSER="0")
    try:
        wait_until(lambda: is_served(port), within=60)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)[0]
    finally:
        end(process)

    assert process.returncode == 0
    assert f"http://127.0.0.1:{port}" in output
    assert "Traceback" not in output


def is_served(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/api/health").status_code == 200
    except httpx.TransportError:
        return False


def test_a_runs_folder_in_use_by_another_server_is_refused(server: LabServer) -> None:
    code, output = run_main("--runs-dir", str(server.folder), "--port", str(free_port()))

    assert code == 2
    assert "in use by another server" in output
    assert len(output.strip().splitlines()) == 1


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        code, output = run_main("--runs-dir", str(tmp_path), "--port", str(port))

    assert code == 2
    assert f"Port {port} on 127.0.0.1 is in use" in output
    assert len(output.strip().splitlines()) == 1


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    open_database(tmp_path / "lab.db").close()
    with sqlite3.connect(tmp_path / "lab.db") as database:
        database.execute("UPDATE schema_version SET version = 99")

    code, output = run_main("--runs-dir", str(tmp_path), "--port", str(free_port()))

    assert code == 2
    assert "version 99" in output


def test_serving_the_network_without_accounts_is_refused(tmp_path: Path) -> None:
    flags = ("--host", "0.0.0.0", "--auth", "off", "--runs-dir", str(tmp_path))
    code, output = run_main(*flags)

    assert code == 2
    assert "--auth off serves this machine only" in output


def test_a_run_folder_has_the_complete_configuration(server: LabServer) -> None:
    run = server.train(total_timesteps=300, seed=11)

    config = json.loads((server.folder / run["id"] / "config.json").read_text())

    assert config["seed"] == 11
    assert config["hyperparameters"]["gamma"] == 0.99
    assert config == run["config"]
