import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app.cli import run_command
from app.cli.console import duration, size, table
from storage.database import runs
from storage.database.database import open_database
from storage.database.tables.runs import RunRow, SchemaRow
from storage.errors import AmbiguousRunError
from storage.files.lab_folder import LabFolder
from storage.records.runs import Progress, RunStatus
from tests.stored_configs import stored_config


@pytest.fixture
def two_runs(runs_dir: Path) -> tuple[str, str]:
    """The ids of an older run that was stopped and a newer one that has not started."""
    runs_dir.mkdir()
    database = open_database(LabFolder(runs_dir).database)
    config = stored_config(total_timesteps=100)
    created = [
        runs.create_run(name=env_id, env_id=env_id, algorithm="PPO", config=config)
        for env_id in ("CartPole-v1", "Acrobot-v1")
    ]
    runs.change_status(created[0].id, RunStatus.STOPPED)
    runs.save_progress(created[0].id, Progress(timesteps=1_234, best=60.0), {"mean_reward": 56.78})
    database.close()
    return created[0].id, created[1].id


def test_runs_are_listed_newest_first(
    two_runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_command(["runs"])

    title, newest, oldest = capsys.readouterr().out.splitlines()
    assert code == 0
    assert title.split()[:4] == ["run", "status", "environment", "algorithm"]
    assert "training mean" in oldest
    assert newest.split()[:6] == [two_runs[1], "created", "Acrobot-v1", "PPO", "0", "-"]
    assert oldest.split()[:6] == [two_runs[0], "stopped", "CartPole-v1", "PPO", "1,234", "56.8"]


@pytest.mark.parametrize("flags", [["--status", "stopped"], ["--env", "CartPole-v1"]])
def test_a_list_can_be_filtered_and_printed_as_json(
    flags: list[str], two_runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(["runs", *flags, "--json"])

    (run,) = json.loads(capsys.readouterr().out)
    assert run["id"] == two_runs[0]
    assert run["status"] == "stopped"
    assert (run["best"], run["score"], run["score_kind"]) == (60.0, 56.78, "training_mean")


def test_a_list_has_a_limit_and_may_be_empty(
    two_runs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(["runs", "--limit", "1", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 1

    run_command(["runs", "--status", "failed"])
    assert capsys.readouterr().out == "No matching runs.\n"


@pytest.mark.parametrize(
    ("version", "sentence"), [(0, "Start the server once"), (999, "Update the program")]
)
def test_a_database_of_another_version_is_refused_and_left_unchanged(
    version: int, sentence: str, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs_dir.mkdir()
    database = open_database(LabFolder(runs_dir).database)
    SchemaRow.update(version=version).execute()
    database.close()

    assert run_command(["runs"]) == 2

    assert sentence in capsys.readouterr().err
    with closing(sqlite3.connect(LabFolder(runs_dir).database)) as reader:
        assert reader.execute("SELECT version FROM schema_version").fetchall() == [(version,)]


def test_a_run_is_found_by_the_first_characters_of_its_id(runs_dir: Path) -> None:
    runs_dir.mkdir()
    database = open_database(LabFolder(runs_dir).database)
    for run_id in ("aab" + "0" * 29, "aac" + "0" * 29):
        created = runs.create_run(name="x", env_id="x", algorithm="PPO", config={})
        RunRow.update(id=run_id).where(RunRow.id == created.id).execute()

    assert runs.find_run("aab").id.startswith("aab")
    assert runs.find_run("latest").id.startswith("aac")
    with pytest.raises(AmbiguousRunError, match=r"Several runs begin with 'aa': aac.*, aab.*"):
        runs.find_run("aa")
    with pytest.raises(LookupError, match="There is no run '%'"):
        runs.find_run("%")
    with pytest.raises(LookupError, match="There is no run ''"):
        runs.find_run("")
    database.close()


def test_numbers_are_formatted_for_reading() -> None:
    assert duration(42.4) == "0:42"
    assert duration(11_459) == "3:10:59"
    assert size(999) == "999 bytes"
    assert size(1_234_567) == "1.2 MB"
    assert table(("a", "n"), [("x", "5"), ("yy", "10")]) == "a    n\nx    5\nyy  10"
