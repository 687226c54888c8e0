"""Open the lab's database."""

from pathlib import Path

from peewee import Database, SqliteDatabase

from storage.migrations import migrate
from storage.tables import TABLES, SchemaRow

_PRAGMAS = {
    "journal_mode": "wal",
    "foreign_keys": 1,
    "busy_timeout": 5_000,
    "synchronous": "normal",
}


def open_database(path: Path) -> Database:
    """Open `path`, bind the tables to it and run the migrations it lacks."""
    database = SqliteDatabase(str(path), pragmas=_PRAGMAS)
    database.bind([*TABLES, SchemaRow])
    database.connect()
    migrate(database)
    return database
