"""Open the lab's database: SQLite, or PostgreSQL."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from peewee import (
    Database,
    Expression,
    Field,
    ImproperlyConfigured,
    InterfaceError,
    OperationalError,
    PeeweeException,
    PostgresqlDatabase,
    SqliteDatabase,
    Value,
    fn,
)

from storage.database.migrations import check_is_current, migrate
from storage.database.tables.accounts import ACCOUNT_TABLES
from storage.database.tables.runs import TABLES, RunRow, SchemaRow
from storage.errors import (
    DatabaseLockedError,
    DatabaseUnusableError,
    DiskFullError,
    DriverMissingError,
    NotWrittenError,
    StorageError,
)

Address = Path | str
"""A SQLite file, or where a PostgreSQL database is: postgresql://person:password@host/name."""

POSTGRESQL = "postgresql://"

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


def open_database(address: Address) -> Database:
    """Open `address`, bind the tables to it and run the migrations it lacks.

    Raises:
        StorageError: if it can't be opened, or was written by a newer version.
    """
    database = _database(address, _PRAGMAS)
    with _opening(database, address):
        migrate(database)
    if isinstance(database, SqliteDatabase):
        database.timeout = _BUSY_TIMEOUT_S
    return database


def open_database_to_read(address: Address) -> Database:
    """Open `address`, which exists, without changing it: a server may be at work on it.

    Raises:
        StorageError: if it can't be read, or is of another version.
    """
    database = _database(address, _ONLY_READ, options="-c default_transaction_read_only=on")
    with _opening(database, address):
        check_is_current()
    return database


def in_one_step() -> AbstractContextManager[object]:
    """Let what is written inside be there whole or not at all."""
    database = RunRow._meta.database
    # Immediate: it meets a lock at its beginning, before anything was read or written.
    how = ("IMMEDIATE",) if isinstance(database, SqliteDatabase) else ()
    step: AbstractContextManager[object] = database.atomic(*how)
    return step


def holds(field: Field, text: str) -> Expression:
    """Whether a column's text has `text` somewhere in it, letter by letter."""
    is_sqlite = isinstance(RunRow._meta.database, SqliteDatabase)
    find = fn.INSTR if is_sqlite else fn.STRPOS
    found: Expression = find(field, Value(text, converter=False)) > 0
    return found


class _Postgresql(PostgresqlDatabase):
    """Connects again after its server was away."""

    def execute_sql(self, sql: str, params: Any = None) -> Any:  # noqa: ANN401 - as peewee has it
        """Run a statement on a connection that works."""
        if not self.in_transaction() and not self.is_connection_usable():
            self.close()
            self.connect()
        return super().execute_sql(sql, params)  # type: ignore[no-untyped-call]  # peewee's


def _database(address: Address, pragmas: dict[str, Any], **options: Any) -> Database:
    if str(address).startswith(POSTGRESQL):
        database: Database = _Postgresql(str(address), prefer_psycopg3=True, **options)
    else:
        database = SqliteDatabase(str(address), pragmas=pragmas)
    database.bind([*TABLES, *ACCOUNT_TABLES, SchemaRow])
    return database


@contextmanager
def _opening(database: Database, address: Address) -> Iterator[None]:
    """Let go of a database that turns out not to be usable, and say why it isn't."""
    try:
        database.connect()
        yield
    except ImproperlyConfigured as error:
        raise DriverMissingError from error
    except (PeeweeException, StorageError) as error:
        database.close()
        if isinstance(error, StorageError):
            raise
        raise DatabaseUnusableError(_without_password(address), str(error).strip()) from error


def _without_password(address: Address) -> str:
    if not str(address).startswith(POSTGRESQL):
        return str(address)
    parts = urlsplit(str(address))
    return f"{POSTGRESQL}{parts.hostname or ''}{parts.path}"


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
        if _is_server_away(error):
            return NotWrittenError("its server does not answer")
        error = error.__context__
    return None


def _is_server_away(error: BaseException) -> bool:
    is_postgresql = isinstance(RunRow._meta.database, PostgresqlDatabase)
    return is_postgresql and isinstance(error, OperationalError | InterfaceError)
