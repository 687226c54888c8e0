"""Open the lab's database."""

from pathlib import Path

from peewee import Database, PeeweeException, SqliteDatabase

from storage.errors import DatabaseUnusableError
from storage.migrations import migrate
from storage.tables import TABLES, SchemaRow

_PRAGMAS = {
    "journal_mode": "wal",
    "foreign_keys": 1,
    "busy_timeout": 5_000,
    "synchronous": "normal",
}


def open_database(path: Path) -> Database:
    """Open `path`, bind the tables to it and run the migrations it lacks.

    Raises:
        StorageError: if it can't be opened, or was written by a newer version.
    """
    database = SqliteDatabase(str(path), pragmas=_PRAGMAS)
    database.bind([*TABLES, SchemaRow])
    try:
        database.connect()
        migrate(database)
    except PeeweeException as error:
        raise DatabaseUnusableError(str(path), str(error)) from error
    return database
