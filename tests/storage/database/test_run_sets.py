import sqlite3
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from peewee import Database, OperationalError

from storage.database import migrations, run_sets, runs
from storage.database.database import Address, open_database
from storage.database.tables.runs import RunRow, SchemaRow
from storage.errors import DatabaseUnusableError, GroupNotFoundError
from storage.records.run_sets import RunSetKind, RunSetRecord, RunSetState
from storage.records.runs import RunRecord, ScoreKind, SolvedBy

_BEFORE_SETS = 5
"""Schema version before sets existed, when a group was only an id."""
_BEFORE_KINDS = 6
"""Schema version before scores had kinds."""
_EARLIER_LAB = Path(__file__).parents[2] / "fixtures" / "lab-0.1.zip"


def create(seed: int, **values: Any) -> RunRecord:
    wanted = {"name": f"PPO, seed {seed}", "env_id": "CartPole-v1", "algorithm": "PPO", **values}
    return runs.create_run(config={"total_timesteps": 100, "seed": seed}, **wanted)


def seed_set(set_id: str = "g", **values: Any) -> RunSetRecord:
    made = RunSetRecord(
        id=set_id,
        kind=RunSetKind.SEEDS,
        name="PPO",
        spec={"seeds": [1, 2]},
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    return replace(made, **values)


def downgrade(database: Database) -> None:
    """Downgrade a database to the version before sets."""
    database.execute_sql("DROP TABLE run_sets")
    SchemaRow.update(version=_BEFORE_SETS).execute()
    database.close()


@pytest.mark.usefixtures("database")
def test_a_set_is_added_only_once_and_can_be_closed() -> None:
    run_set = seed_set(owner="ada", parent="sweep")
    run_sets.add_run_set(run_set)
    run_sets.add_run_set(replace(run_set, name="another"))
    assert run_sets.get_run_set("g") == run_set

    run_sets.close_run_set("g")

    assert run_sets.get_run_set("g") == replace(run_set, state=RunSetState.CLOSED)
    with pytest.raises(GroupNotFoundError):
        run_sets.get_run_set("other")


@pytest.mark.usefixtures("database")
def test_all_members_are_listed_in_order_of_creation() -> None:
    created = [create(seed, group_id="g") for seed in range(120)]
    create(1, group_id="other")
    runs.hide_run(created[0].id)
    runs.change_run(created[1].id, archived=True)

    assert [run.id for run in runs.members("g")] == [run.id for run in created[1:]]
    assert runs.members("none") == ()


@pytest.mark.usefixtures("database")
def test_a_set_is_deleted_when_its_last_run_is_erased() -> None:
    run_sets.add_run_set(seed_set())
    first, second = create(1, group_id="g"), create(2, group_id="g")
    runs.hide_run(first.id)
    runs.hide_run(second.id)
    assert runs.erase_run(first.id)
    assert run_sets.get_run_set("g")

    runs.restore_run(second.id)
    assert not runs.erase_run(second.id)
    assert run_sets.get_run_set("g")

    runs.hide_run(second.id)
    assert runs.erase_run(second.id)
    with pytest.raises(GroupNotFoundError):
        run_sets.get_run_set("g")


def test_groups_of_an_earlier_version_become_sets(address: Address, database: Database) -> None:
    create(9, name="alone")
    first = create(7, group_id="g", name="Mine, seed 7", owner="ada")
    create(8, group_id="g", name="renamed", owner="ada")
    renamed = create(1, group_id="h", name="renamed")
    downgrade(database)

    reopened = open_database(address)

    expected = seed_set(owner="ada", name="Mine", state=RunSetState.CLOSED)
    assert run_sets.get_run_set("g") == replace(
        expected, created_at=first.created_at, spec={"seeds": [7, 8]}
    )
    other = run_sets.get_run_set("h")
    assert (other.name, other.owner) == ("PPO on CartPole-v1", None)
    assert other.created_at == renamed.created_at
    assert reopened.execute_sql("SELECT count(*) FROM run_sets").fetchone() == (2,)
    assert len(runs.members("g")) == 2
    reopened.close()


def test_an_interrupted_migration_is_rolled_back_and_can_be_repeated(
    address: Address, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(1, group_id="g")
    create(1, group_id="h")
    downgrade(database)
    make_set, calls = migrations._make_set, list[Any]()

    def fail_on_the_second_call(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 2:
            raise OperationalError
        make_set(*given)

    monkeypatch.setattr(migrations, "_make_set", fail_on_the_second_call)
    with pytest.raises(DatabaseUnusableError):
        open_database(address)
    assert "run_sets" not in database.get_tables()
    database.close()
    monkeypatch.undo()

    open_database(address).close()
    reopened = open_database(address)

    assert {run_sets.get_run_set(one).name for one in ("g", "h")} == {"PPO"}
    reopened.close()


def test_a_migration_keeps_existing_sets(address: Address, database: Database) -> None:
    run_sets.add_run_set(seed_set())
    create(1, group_id="g")
    SchemaRow.update(version=_BEFORE_SETS).execute()
    database.close()

    reopened = open_database(address)

    assert run_sets.get_run_set("g") == seed_set()
    reopened.close()


def test_the_group_of_a_lab_of_version_0_1_becomes_a_set(tmp_path: Path) -> None:
    with zipfile.ZipFile(_EARLIER_LAB) as packed:
        packed.extract("lab.db", tmp_path)

    opened = open_database(tmp_path / "lab.db")

    (group_id,) = {row.group_id for row in RunRow.select(RunRow.group_id)} - {None}
    run_set = run_sets.get_run_set(group_id)
    assert (run_set.name, run_set.kind, run_set.spec) == (
        "Group",
        RunSetKind.SEEDS,
        {"seeds": [1, 2]},
    )
    assert run_set.created_at == min(run.created_at for run in runs.members(group_id))
    opened.close()


def test_the_runs_of_an_earlier_version_keep_their_scores_and_tell_how_they_were_obtained(
    tmp_path: Path,
) -> None:
    with zipfile.ZipFile(_EARLIER_LAB) as packed:
        packed.extract("lab.db", tmp_path)
    with sqlite3.connect(tmp_path / "lab.db") as earlier:
        stored = dict(earlier.execute("SELECT id, score FROM runs").fetchall())
        (solved,) = earlier.execute("SELECT id FROM runs ORDER BY id LIMIT 1").fetchone()
        earlier.execute("UPDATE runs SET solved_at = 40 WHERE id = ?", (solved,))
    earlier.close()

    opened = open_database(tmp_path / "lab.db")

    found = {run_id: runs.get_run(run_id) for run_id in stored}
    assert {run_id: run.score for run_id, run in found.items()} == stored
    assert {run.score_kind for run in found.values() if run.score is not None} <= {
        ScoreKind.BEST_EVALUATION,
        ScoreKind.TRAINING_MEAN,
    }
    assert found[solved].progress.solved_by is SolvedBy.TRAINING_MEAN
    assert {run.progress.solved_by for run_id, run in found.items() if run_id != solved} == {None}
    opened.close()


def test_a_migration_stores_the_missing_scores_of_imported_runs(
    address: Address, database: Database
) -> None:
    imported = create(1, latest_json={"mean_reward": 7.0})
    without_numbers = create(2)
    stored = create(3, latest_json={"mean_reward": 7.0}, score=9.0)
    SchemaRow.update(version=_BEFORE_KINDS).execute()
    database.close()

    reopened = open_database(address)

    scores = {row.id: row.score for row in RunRow.select(RunRow.id, RunRow.score)}
    assert scores == {imported.id: 7.0, without_numbers.id: None, stored.id: 9.0}
    reopened.close()
