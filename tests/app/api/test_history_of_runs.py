"""Past runs: their sketches and their rows in the table."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.core.storage_thread import StorageThread
from app.runs.history import History
from components.history.history_view import HistoryView
from components.history.run_rows import entry_row
from storage.database import runs
from storage.database.database import open_database
from storage.files.lab_folder import LabFolder
from storage.records.runs import Progress, RunFilter, RunRecord, RunStatus


def record(name: str = "a run", **values: Any) -> RunRecord:
    now = datetime.now(UTC)
    defaults: dict[str, Any] = {
        "id": name,
        "name": name,
        "env_id": "CartPole-v1",
        "algorithm": "PPO",
        "status": RunStatus.COMPLETED,
        "config": {"total_timesteps": 100},
        "created_at": now,
        "updated_at": now,
    }
    return RunRecord(**(defaults | values))


async def test_the_sketch_of_an_older_run_is_made_once_from_its_metrics(tmp_path: Path) -> None:
    storage = StorageThread()
    database = storage.call(open_database, tmp_path / "lab.db")
    config = {"total_timesteps": 100}
    run = storage.call(
        runs.create_run, name="old", env_id="CartPole-v1", algorithm="PPO", config=config
    )
    folder = LabFolder(tmp_path)
    path = folder.run(run.id).metrics
    path.parent.mkdir()
    lines = [
        {"n": 1, "timesteps": 10, "mean_reward": 5.0},
        {"n": 2, "timesteps": 20, "mean_reward": 6.0, "eval_reward": 9.0},
        {"n": 3, "timesteps": 30, "eval_reward": 7.0},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    history = History(folder, storage, fresh=lambda run: run)

    sketched = await history.with_sketch(replace(run, status=RunStatus.COMPLETED))
    path.unlink()
    [entry] = (await history.page(RunFilter())).entries

    assert sketched.sketch is not None
    assert sketched.sketch.points == ((10, 5.0), (20, 6.0))
    assert (entry[0].sketch, entry[0].score) == (sketched.sketch, 7.0)
    storage.call(database.close)
    storage.close()


def test_the_row_of_a_group_shows_a_typical_seed() -> None:
    seeds = [
        record(
            f"Sweep, seed {number}",
            group_id="g",
            tags=("all", *(["one"] if number == 0 else [])),
            status=RunStatus.RUNNING if number == 0 else RunStatus.COMPLETED,
            progress=Progress(timesteps=100 * number, elapsed_s=10.0, last_evaluation=score),
        )
        for number, score in enumerate([0.0, 40.0, 60.0, 900.0])
    ]

    row = entry_row(seeds, lambda _: {})

    assert (row["name"], row["status"], row["score"]) == ("Sweep", "1 running", "50.0")
    assert (row["steps"], row["time"], row["tags"]) == ("150", "10 s per seed", ["all"])
    assert row["kind"] == "last evaluation"
    assert [seed["short"] for seed in row["members"]] == [f"seed {n}" for n in range(4)]
    assert row["members"][0]["tags"] == ["one"]


def test_a_row_without_measurements_has_no_numbers() -> None:
    row = entry_row([record(status=RunStatus.QUEUED)], lambda _: {})

    assert [row[name] for name in ("score", "steps", "time", "curve")] == ["-", "-", "-", None]


def test_a_url_defines_the_view_and_its_invalid_values_are_ignored() -> None:
    query = {"q": "a b", "status": "failed", "archived": "all", "sort": "-score", "page": "3"}

    view = HistoryView.read(query)

    assert view.address == "/runs?q=a+b&status=failed&archived=all&sort=-score&page=3"
    assert HistoryView.read({"status": "x", "sort": "x", "page": "-1", "archived": "x"}) == (
        HistoryView()
    )
    assert not HistoryView.read({"sort": "name", "page": "2"}).is_filtered
    assert view.unfiltered == HistoryView(sort="-score")
