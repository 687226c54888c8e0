"""Bring a database up to date, one numbered step after another."""

from collections.abc import Callable, Sequence

from peewee import Database, SqliteDatabase

from storage.database.tables.accounts import ACCOUNT_TABLES
from storage.database.tables.runs import TABLES, RunRow, SchemaRow
from storage.errors import DatabaseTooNewError, DatabaseTooOldError

Migration = Callable[[Database], None]


def _create_runs_and_events(database: Database) -> None:
    database.create_tables(TABLES)


def _create_accounts(database: Database) -> None:
    database.create_tables(ACCOUNT_TABLES)
    _add_column(database, "runs", "visibility", "VARCHAR(255) NOT NULL DEFAULT 'private'")
    _add_column(database, "runs", "shared_json", "TEXT NOT NULL DEFAULT '[]'")


def _create_what_accounts_lack(database: Database) -> None:
    database.create_tables(ACCOUNT_TABLES)


def _drop_an_index_that_misleads(database: Database) -> None:
    """Nearly no run is deleted, but SQLite would rather look that up than walk in order."""
    execute: Callable[[str], object] = database.execute_sql
    execute('DROP INDEX IF EXISTS "runrow_deleted_at"')


def _score_runs(database: Database) -> None:
    """Give each run the number and the shape by which a list shows it."""
    _add_column(database, "runs", "best_evaluation", "FLOAT")
    _add_column(database, "runs", "score", "FLOAT")
    _add_column(database, "runs", "sketch_json", "TEXT")
    for row in RunRow.select(RunRow.id, RunRow.latest_json).where(RunRow.score.is_null()):
        if (mean := (row.latest_json or {}).get("mean_reward")) is not None:
            RunRow.update(score=mean).where(RunRow.id == row.id).execute()
    _index_history(database)


def _index_history(database: Database) -> None:
    """Let pages of the history read narrow columns alone, not the JSON beside them.

    It begins with a column that no list filters by: SQLite would rather search than walk in order.
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
        # Without what may be long: PostgreSQL refuses entries above a third of a page.
        execute(f"CREATE INDEX IF NOT EXISTS runs_history ON runs (updated_at) INCLUDE ({narrow})")


MIGRATIONS: tuple[Migration, ...] = (
    _create_runs_and_events,
    _create_accounts,
    _create_what_accounts_lack,
    _drop_an_index_that_misleads,
    _score_runs,
)
"""Only ever append: the position is the version."""


def _add_column(database: Database, table: str, name: str, kind: str) -> None:
    """Add a column that older databases lack; new ones were made with it.

    Not by peewee's migrator: on SQLite it drops and remakes the table, and the runs' events go.
    """
    if name not in {column.name for column in database.get_columns(table)}:
        execute: Callable[[str], object] = database.execute_sql
        execute(f'ALTER TABLE "{table}" ADD COLUMN "{name}" {kind}')


def migrate(database: Database, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Run the steps that this database hasn't seen, each in a transaction of its own.

    Raises:
        DatabaseTooNewError: if the database has seen steps that this program doesn't know.
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
    """Make sure that the database has seen exactly the steps that this program knows.

    Raises:
        StorageError: if it has seen more or fewer.
    """
    found, known = SchemaRow.get().version, len(MIGRATIONS)
    if found > known:
        raise DatabaseTooNewError(found, known)
    if found < known:
        raise DatabaseTooOldError(found, known)
