"""A full disk, a locked database, broken files: no published data is lost."""

import json
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.app.evaluation.evaluating import BRIEF, Subject
from tests.conftest import free_port
from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]}
LONG: dict[str, Any] = {"total_timesteps": 5_000_000, "hyperparameters": SMALL, "start": True}
SLOW_RUN = {**LONG, "reward_code": SLEEPING_REWARD.format(seconds=0.001)}


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Mount a disk of 24 MB."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"A small disk can't be mounted here: {error}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="module")
def lab_on_small_disk(small_disk: Path) -> Iterator[LabServer]:
    """Start a lab on that disk."""
    with LabServer(small_disk / "runs", free_port(), RL_LAB_WORKERS="1") as lab:
        yield lab


def fill(disk: Path) -> Path:
    """Write a file until the disk is full."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4_096)
    return filler


@pytest.fixture
def lab(own_server: LabServer) -> LabServer:
    own_server.stop_all()
    return own_server


@contextmanager
def locked(database: Path) -> Iterator[Callable[[], None]]:
    """Lock a database as another program would; yield a function that unlocks it."""
    connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield lambda: connection.rollback()
    finally:
        connection.close()


def lines_of(lab: LabServer, run_id: str, query: str = "") -> list[dict[str, Any]]:
    answer = lab.api.get(f"/runs/{run_id}/metrics{query}")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def written_status(lab: LabServer, run_id: str) -> str:
    """Return the status in the database, which may differ from what the server reports."""
    with sqlite3.connect(f"file:{lab.folder / 'lab.db'}?mode=ro", uri=True) as database:
        row = database.execute("SELECT status FROM runs WHERE id = ?", (run_id,)).fetchone()
    status: str = row[0]
    return status


def resume_and_complete(lab: LabServer, run_id: str, *, more: int = 3_000) -> dict[str, Any]:
    """Resume a run and train it for a few more steps."""
    budget = lab.get(run_id)["timesteps"] + more
    answer = lab.api.patch(f"/runs/{run_id}", json={"total_timesteps": budget})
    assert answer.status_code == 200, answer.text
    answer = lab.api.post(f"/runs/{run_id}/resume")
    assert answer.status_code == 202, answer.text
    ended = lab.wait_for(run_id, "completed", "failed", "interrupted")
    assert ended["status"] == "completed", ended["error"]
    return ended


def are_without_gaps(lines: list[dict[str, Any]]) -> bool:
    episodes = [line["episode"] for line in lines if "reward" in line]
    numbers_match = [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    return numbers_match and episodes == list(range(1, len(episodes) + 1))


def test_a_full_disk_interrupts_a_run_and_it_can_be_resumed_once_there_is_space(
    small_disk: Path, lab_on_small_disk: LabServer
) -> None:
    lab = lab_on_small_disk
    run = lab.create(**LONG)
    lab.wait_for_steps(run["id"], 5_000)
    path = lab.folder / run["id"] / "metrics.jsonl"

    filler = fill(small_disk)
    interrupted = lab.wait_for(run["id"], "interrupted", "failed")
    lines = lines_of(lab, run["id"])
    refused = lab.api.post("/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO"})
    too_early = lab.api.post(f"/runs/{run['id']}/resume")

    assert interrupted["status"] == "interrupted"
    assert "No space left on device" in interrupted["error"]
    assert [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]] == lines
    assert path.read_bytes().endswith(b"\n")
    assert are_without_gaps(lines)
    assert refused.status_code in {422, 503}
    assert len(lab.api.get("/runs").json()["items"]) == 1
    assert too_early.status_code == 503
    # Other workers may still render previews of environments.
    wait_until(lambda: not lab.workers())

    filler.unlink()
    wait_until(lambda: written_status(lab, run["id"]) == "interrupted")
    ended = resume_and_complete(lab, run["id"])

    assert sum("No space left on device" in text for text in lab.messages(run["id"])) == 1
    assert are_without_gaps(lines_of(lab, run["id"]))
    assert ended["timesteps"] > interrupted["timesteps"]
    assert lab.train(total_timesteps=500)["status"] == "completed"


def test_a_full_disk_leaves_no_partial_video(
    small_disk: Path, lab_on_small_disk: LabServer
) -> None:
    subject = Subject(lab_on_small_disk, lab_on_small_disk.train(**BRIEF)["id"])
    started = subject.start(episodes=10)
    subject.wait(started, "running")
    filler = fill(small_disk)

    ended = subject.wait(started)

    assert ended["status"] == "failed"
    assert "No space left on device" in ended["error"]
    assert not [name for name in subject.files if name.endswith((".mp4", ".gz", ".part"))]
    refused = subject.request()
    assert refused.status_code == 503
    filler.unlink()
    assert subject.evaluate(episodes=1)["video_url"]


def test_a_request_waits_for_a_database_that_is_locked_for_two_seconds(lab: LabServer) -> None:
    run = lab.create(**SLOW_RUN)
    lab.wait_for_steps(run["id"], 500)

    with locked(lab.folder / "lab.db") as unlock:
        threading.Timer(2, unlock).start()
        created = lab.api.post("/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO"})

    assert created.status_code == 201
    assert lab.get(run["id"])["status"] == "running"
    lab.stop_all()


def test_a_locked_database_stops_no_run_and_all_changes_are_written_afterwards(
    lab: LabServer,
) -> None:
    before = len(lab.api.get("/runs").json()["items"])
    long = lab.create(**SLOW_RUN)
    short = lab.create(**{**SLOW_RUN, "total_timesteps": 4_000})
    lab.wait_for_steps(long["id"], 500)
    lab.wait_for_steps(short["id"], 500)

    with locked(lab.folder / "lab.db") as unlock:
        refused = lab.api.post("/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO"})
        ended = lab.wait_for(short["id"], "completed", "failed", "interrupted")
        lines = len(lines_of(lab, long["id"]))
        wait_until(lambda: len(lines_of(lab, long["id"])) > lines)
        status_while_locked = written_status(lab, short["id"])
        unlock()

    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "not_written"
    assert "another program has locked it" in refused.json()["error"]["message"]
    assert ended["status"] == "completed"
    assert status_while_locked == "running"
    wait_until(lambda: written_status(lab, short["id"]) == "completed")
    assert sum("Training complete" in text for text in lab.messages(short["id"])) == 1
    assert lab.get(short["id"])["timesteps"] == ended["timesteps"] >= 4_000
    assert lab.get(long["id"])["status"] == "running"
    assert len(lab.api.get("/runs").json()["items"]) == before + 2
    lab.stop_all()
    assert lab.train(total_timesteps=500)["status"] == "completed"


def test_requests_are_executed_or_refused_while_the_database_is_locked(
    lab: LabServer,
) -> None:
    run = lab.create(**SLOW_RUN)
    waiting = lab.create(total_timesteps=500, hyperparameters=SMALL)
    lab.wait_for_steps(run["id"], 500)

    with locked(lab.folder / "lab.db") as unlock:
        paused = lab.api.post(f"/runs/{run['id']}/pause")
        refused = lab.api.post(f"/runs/{waiting['id']}/start")
        refused_again = lab.api.patch(f"/runs/{waiting['id']}", json={"name": "Another"})
        unlock()

    assert paused.status_code == 202
    assert {refused.status_code, refused_again.status_code} == {503}
    # Its worker seemed silent for longer than allowed: its messages could not be written.
    assert lab.wait_for(run["id"], "paused", "failed")["status"] == "paused"
    assert lab.get(waiting["id"])["status"] == "created"
    lab.api.post(f"/runs/{run['id']}/stop")
    lab.api.post(f"/runs/{waiting['id']}/start")
    assert lab.wait_for(waiting["id"], "completed")["status"] == "completed"


def stopped_run(lab: LabServer) -> dict[str, Any]:
    """Return a run with a checkpoint and a few hundred lines."""
    run = lab.create(**LONG)
    lab.wait_for_steps(run["id"], 5_000)
    lab.api.post(f"/runs/{run['id']}/stop")
    return lab.wait_for(run["id"], "stopped")


def test_unreadable_metrics_are_skipped_and_reported(server: LabServer) -> None:
    run = stopped_run(server)
    lines = lines_of(server, run["id"])
    path = server.folder / run["id"] / "metrics.jsonl"
    raw = path.read_bytes().splitlines(keepends=True)

    path.write_bytes(b"".join([*raw[:2], b"\x00" * 50 + b"\n", *raw[3:], b"\xff\n", raw[0][:20]]))

    readable = [line for line in lines if line["n"] != 3]
    assert lines_of(server, run["id"]) == readable
    assert lines_of(server, run["id"], "?tail=3")[-1] == lines[-1]
    assert lines_of(server, run["id"], "?max_points=50")
    with server.stream(f"/runs/{run['id']}/stream?all=1&after=0") as stream:
        assert [event for event in stream if event["event"] == "end"]
    resume_and_complete(server, run["id"])
    numbers = [line["n"] for line in lines_of(server, run["id"])]
    assert numbers == [n for n in range(1, numbers[-1] + 1) if n != 3]
    assert "Unreadable lines of metrics were skipped: 1." in server.messages(run["id"])


def test_a_run_without_a_readable_checkpoint_is_not_resumed_and_keeps_its_metrics(
    server: LabServer,
) -> None:
    run = stopped_run(server)
    lines = lines_of(server, run["id"])
    folder = server.folder / run["id"] / "checkpoints"

    for zip_file in folder.glob("*.zip"):
        zip_file.write_bytes(b"")
    for name in ("*.zip", "*.json"):
        refused = server.api.post(f"/runs/{run['id']}/resume")
        assert refused.status_code == 409
        assert "has no checkpoint" in refused.json()["error"]["message"]
        assert lines_of(server, run["id"]) == lines
        assert server.api.get(f"/runs/{run['id']}").status_code == 200
        for file in folder.glob(name):
            file.unlink()
