"""Bring a database up to date, one numbered step after another."""

from collections.abc import Callable, Sequence

from peewee import Database

from storage.account_tables import ACCOUNT_TABLES
from storage.errors import DatabaseTooNewError, DatabaseTooOldError
from storage.tables import TABLES, SchemaRow

Migration = Callable[[Database], None]


def _create_runs_and_events(database: Database) -> None:
    database.create_tables(TABLES)


def _create_accounts(database: Database) -> None:
    database.create_tables(ACCOUNT_TABLES)
    _add_column(database, "runs", "visibility", "VARCHAR(255) NOT NULL DEFAULT 'private'")
    _add_column(database, "runs", "shared_json", "TEXT NOT NULL DEFAULT '[]'")


MIGRATIONS: tuple[Migration, ...] = (_create_runs_and_events, _create_accounts)
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
