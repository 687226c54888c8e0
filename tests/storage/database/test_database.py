import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from peewee import Database, OperationalError

from storage.database import events, runs
from storage.database.database import open_database, transaction, translate_outages
from storage.errors import (
    DatabaseLockedError,
    DatabaseUnusableError,
    DiskFullError,
    NotWrittenError,
)
from storage.records.runs import RunFilter, Visibility


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A SQLite database only: these tests are about its locks and its file."""
    opened = open_database(tmp_path / "lab.db")
    yield opened
    opened.close()


def add_run() -> str:
    return runs.create_run(name="A", env_id="CartPole-v1", algorithm="PPO", config={}).id


def test_a_lock_is_reported_and_reads_still_work(database: Database, tmp_path: Path) -> None:
    run_id = add_run()
    other = sqlite3.connect(tmp_path / "lab.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    with (
        pytest.raises(DatabaseLockedError, match="another program has locked it"),
        translate_outages(),
    ):
        add_run()
    with (
        pytest.raises(DatabaseLockedError),
        translate_outages(),
        transaction(),
    ):
        add_run()

    assert runs.get_run(run_id).id == run_id
    other.close()
    assert add_run()


def _add_too_much(run_id: str) -> None:
    with transaction():
        add_run()
        events.add_event(run_id, "note", "x" * 100_000)


def test_a_full_disk_is_reported_and_the_transaction_is_rolled_back(database: Database) -> None:
    run_id = add_run()
    pages = database.execute_sql("PRAGMA page_count").fetchone()[0]
    database.execute_sql(f"PRAGMA max_page_count = {pages + 2}")

    with pytest.raises(DiskFullError, match="disk is full"), translate_outages():
        _add_too_much(run_id)

    assert len(runs.list_runs(RunFilter()).items) == 1
    assert events.list_events(run_id) == ()
    database.execute_sql("PRAGMA max_page_count = 100000")
    events.add_event(run_id, "note", "x" * 100_000)
    assert len(events.list_events(run_id)) == 1


def test_a_programming_error_is_not_translated(database: Database) -> None:
    with pytest.raises(OperationalError, match="no such table"), translate_outages():
        database.execute_sql("SELECT * FROM nowhere")


def test_the_error_about_an_unreachable_server_does_not_contain_its_password(
    tmp_path: Path,
) -> None:
    address = f"postgresql://lab:geheim@/lab?host={tmp_path}"

    with pytest.raises(DatabaseUnusableError, match="postgresql:///lab can't be used") as raised:
        open_database(address)

    assert "geheim" not in str(raised.value)


def test_a_lost_connection_is_reported_and_reopened(postgresql_server: str) -> None:
    opened = open_database(postgresql_server)
    try:
        with (
            pytest.raises(NotWrittenError, match="its server does not answer"),
            translate_outages(),
        ):
            opened.execute_sql("SELECT pg_terminate_backend(pg_backend_pid())")

        assert opened.execute_sql("SELECT 1").fetchone() == (1,)
    finally:
        opened.close()


def test_a_lab_older_than_accounts_keeps_its_runs_and_their_logs(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    first = open_database(path)
    run_id = add_run()
    events.add_event(run_id, "note", "from before")
    first.close()
    with sqlite3.connect(path) as older:
        older.execute("DROP INDEX runs_history")
        older.execute("DROP TABLE run_sets")
        for column in (
            *("visibility", "shared_json", "best_evaluation", "score", "sketch_json"),
            *("solved_by", "last_evaluation", "final_evaluation", "final_evaluation_at"),
        ):
            older.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        older.execute("UPDATE schema_version SET version = 1")
    older.close()

    reopened = open_database(path)

    assert runs.get_run(run_id).visibility is Visibility.PRIVATE
    assert [event.message for event in events.all_events(run_id)] == ["from before"]
    reopened.close()
