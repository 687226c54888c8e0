"""Bring a database up to date, one numbered step after another."""

from collections.abc import Callable, Sequence

from peewee import Database

from storage.errors import DatabaseTooNewError, DatabaseTooOldError
from storage.tables import TABLES, SchemaRow

Migration = Callable[[Database], None]


def _create_runs_and_events(database: Database) -> None:
    database.create_tables(TABLES)


MIGRATIONS: tuple[Migration, ...] = (_create_runs_and_events,)
"""Only ever append: the position is the version."""


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
