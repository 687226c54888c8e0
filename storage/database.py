"""Open the lab's database."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from peewee import Database, PeeweeException, SqliteDatabase

from storage.errors import (
    DatabaseLockedError,
    DatabaseUnusableError,
    DiskFullError,
    NotWrittenError,
    StorageError,
)
from storage.migrations import check_is_current, migrate
from storage.tables import TABLES, RunRow, SchemaRow

_PRAGMAS = {
    "journal_mode": "wal",
    "foreign_keys": 1,
    "busy_timeout": 5_000,
    "synchronous": "normal",
}
_BUSY_TIMEOUT_S = 0.1
"""Once it is open: who meets a lock comes again, so that others can read meanwhile."""
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_BROKEN = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


_ONLY_READ = {"query_only": 1, "busy_timeout": 5_000}


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
        database.timeout = _BUSY_TIMEOUT_S
    except PeeweeException as error:
        raise DatabaseUnusableError(str(path), str(error)) from error
    return database


def in_one_step() -> AbstractContextManager[object]:
    """Let what is written inside be there whole or not at all."""
    # Immediate: it meets a lock at its beginning, before anything was read or written.
    step: AbstractContextManager[object] = RunRow._meta.database.atomic("IMMEDIATE")
    return step


@contextmanager
def naming_outages() -> Iterator[None]:
    """Raise `NotWrittenError` where the database can't do what it otherwise could."""
    try:
        yield
    except (PeeweeException, sqlite3.Error) as error:
        outage = _outage(error)
        if outage is None:
            raise
        raise outage from error


def _outage(error: BaseException | None) -> NotWrittenError | None:
    while error is not None:
        # SQLite's own error is the first argument of peewee's. A rollback that failed because
        # SQLite was quicker hides the cause, which is then its context.
        own = error.args[0] if isinstance(error, PeeweeException) and error.args else error
        code = getattr(own, "sqlite_errorcode", 0) & 0xFF
        if code in _LOCKED:
            return DatabaseLockedError()
        if code == sqlite3.SQLITE_FULL:
            return DiskFullError()
        if code in _BROKEN:
            return NotWrittenError(str(own))
        error = error.__context__
    return None


def open_database_to_read(path: Path) -> Database:
    """Open `path`, which exists, without changing it: a server may be at work on it.

    Raises:
        StorageError: if it can't be read, or is of another version.
    """
    database = SqliteDatabase(str(path), pragmas=_ONLY_READ)
    database.bind([*TABLES, SchemaRow])
    try:
        database.connect()
        check_is_current()
    except StorageError:
        database.close()
        raise
    except PeeweeException as error:
        raise DatabaseUnusableError(str(path), str(error)) from error
    return database
