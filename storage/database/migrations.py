"""Migrate a database to the current schema in numbered steps."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import groupby
from typing import Any

from peewee import Database, SqliteDatabase

from storage import DatabaseTooNewError, DatabaseTooOldError
from storage.database.tables import (
    ACCOUNT_TABLES,
    TABLES,
    RunRow,
    RunSetRow,
    SchemaRow,
    record_of,
)
from storage.records import Progress, RunSetKind, RunSetState, SolvedBy, score_of

Migration = Callable[[Database], None]


def _create_runs_and_events(database: Database) -> None:
    database.create_tables(TABLES)


def _create_accounts(database: Database) -> None:
    database.create_tables(ACCOUNT_TABLES)
    _add_column(database, "runs", "visibility", "VARCHAR(255) NOT NULL DEFAULT 'private'")
    _add_column(database, "runs", "shared_json", "TEXT NOT NULL DEFAULT '[]'")


def _create_missing_account_tables(database: Database) -> None:
    database.create_tables(ACCOUNT_TABLES)


def _drop_misleading_index(database: Database) -> None:
    """Drop an index that SQLite prefers to an ordered scan, although few runs are deleted."""
    execute: Callable[[str], object] = database.execute_sql
    execute('DROP INDEX IF EXISTS "runrow_deleted_at"')


def _score_runs(database: Database) -> None:
    """Add the score and the sketch that lists of runs show."""
    _add_column(database, "runs", "best_evaluation", "FLOAT")
    _add_column(database, "runs", "score", "FLOAT")
    _add_column(database, "runs", "sketch_json", "TEXT")
    for row in RunRow.select(RunRow.id, RunRow.latest_json).where(RunRow.score.is_null()):
        if (mean := (row.latest_json or {}).get("mean_reward")) is not None:
            RunRow.update(score=mean).where(RunRow.id == row.id).execute()
    _index_history(database)


def _index_history(database: Database) -> None:
    """Create an index from which history pages read narrow columns instead of rows with JSON.

    It starts with a column that no list filters by; otherwise SQLite searches it instead of
    scanning in order.
    """
    narrow = (
        "archived, env_id, algorithm, status, deleted_at, group_id, id, owner, visibility, "
        "created_at, timesteps, elapsed_s, score"
    )
    execute: Callable[[str], object] = database.execute_sql
    if isinstance(database, SqliteDatabase):
        columns = f"updated_at, {narrow}, name, tags_json, shared_json"
        execute(f"CREATE INDEX IF NOT EXISTS runs_history ON runs ({columns})")
    else:
        # Without columns that may be long: PostgreSQL refuses entries above a third of a page.
        execute(f"CREATE INDEX IF NOT EXISTS runs_history ON runs (updated_at) INCLUDE ({narrow})")


def _make_sets_of_groups(database: Database) -> None:
    """Create a row for each seed group, which was only an id shared by its runs."""
    database.create_tables([RunSetRow])
    columns = ("name", "env_id", "algorithm", "owner", "created_at", "config_json", "group_id")
    rows = RunRow.select(*(getattr(RunRow, name) for name in columns)).where(
        RunRow.group_id.is_null(False), RunRow.group_id.not_in(RunSetRow.select(RunSetRow.id))
    )
    in_groups = rows.order_by(RunRow.group_id, RunRow.created_at, RunRow.id)
    for group_id, members in groupby(list(in_groups), key=lambda row: row.group_id):
        _make_set(group_id, list(members))


def _make_set(group_id: str, members: Sequence[Any]) -> None:
    first, seeds = members[0], [row.config_json.get("seed") for row in members]
    title = first.name.removesuffix(f", seed {seeds[0]}")
    RunSetRow.create(
        id=group_id,
        kind=RunSetKind.SEEDS,
        name=title if title != first.name else f"{first.algorithm} on {first.env_id}",
        spec={"seeds": seeds},
        created_at=first.created_at,
        state=RunSetState.CLOSED,
        owner=first.owner,
    )


def _tell_how_scores_were_obtained(database: Database) -> None:
    """Add the evaluations from which scores are made; stored scores remain as they are."""
    for name in ("last_evaluation", "final_evaluation"):
        _add_column(database, "runs", name, "FLOAT")
    _add_column(database, "runs", "final_evaluation_at", "INTEGER")
    _add_column(database, "runs", "solved_by", "VARCHAR(255)")
    earlier = RunRow.solved_at.is_null(False) & RunRow.solved_by.is_null()
    RunRow.update(solved_by=SolvedBy.TRAINING_MEAN).where(earlier).execute()
    _score_imported_runs()


def _score_imported_runs() -> None:
    """Store the scores of imported runs, which earlier versions computed only for display."""
    names = ("id", "latest_json", *(field.name for field in fields(Progress)))
    columns = (getattr(RunRow, name) for name in names)
    for row in RunRow.select(*columns).where(RunRow.score.is_null()):
        score, _ = score_of(record_of(Progress, row), row.latest_json)
        if score is not None:
            RunRow.update(score=score).where(RunRow.id == row.id).execute()


MIGRATIONS: tuple[Migration, ...] = (
    _create_runs_and_events,
    _create_accounts,
    _create_missing_account_tables,
    _drop_misleading_index,
    _score_runs,
    _make_sets_of_groups,
    _tell_how_scores_were_obtained,
)
"""Append only: the position is the version."""


def _add_column(database: Database, table: str, name: str, kind: str) -> None:
    """Add a column if it is missing; new databases are created with it.

    Not with peewee's migrator: on SQLite it recreates the table, which deletes the runs' events.
    """
    if name not in {column.name for column in database.get_columns(table)}:
        execute: Callable[[str], object] = database.execute_sql
        execute(f'ALTER TABLE "{table}" ADD COLUMN "{name}" {kind}')


def migrate(database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the migrations that this database lacks, each in its own transaction.

    Raises:
        DatabaseTooNewError: if the database has migrations that this program doesn't know.
    """
    database.create_tables([SchemaRow])
    row = SchemaRow.select().first() or SchemaRow.create(version=0)
    if row.version > len(migrations):
        raise DatabaseTooNewError(row.version, len(migrations))
    for version, step in enumerate(migrations[row.version :], start=row.version + 1):
        with database.atomic():
            step(database)
            SchemaRow.update(version=version).execute()


def check_is_current() -> None:
    """Check that the database has exactly the migrations that this program knows.

    Raises:
        StorageError: if it has more or fewer.
    """
    found, known = SchemaRow.get().version, len(MIGRATIONS)
    if found > known:
        raise DatabaseTooNewError(found, known)
    if found < known:
        raise DatabaseTooOldError(found, known)
