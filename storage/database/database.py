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

from storage import (
    DatabaseLockedError,
    DatabaseUnusableError,
    DiskFullError,
    DriverMissingError,
    NotWrittenError,
    StorageError,
)
from storage.database.migrations import check_is_current, migrate
from storage.database.tables import ACCOUNT_TABLES, TABLES, RunRow, SchemaRow

Address = Path | str
"""A SQLite file, or a PostgreSQL URL: postgresql://user:password@host/name."""

POSTGRESQL = "postgresql://"

_PRAGMAS = {
    "journal_mode": "wal",
    "foreign_keys": 1,
    "busy_timeout": 5_000,
    "synchronous": "normal",
}
_BUSY_TIMEOUT_S = 0.1
"""Used once the database is open: callers retry on a lock, so that others can read meanwhile."""
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_BROKEN = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}
_READ_ONLY_PRAGMAS = {"query_only": 1, "busy_timeout": 5_000}


def open_database(address: Address) -> Database:
    """Open `address`, bind the tables to it and run missing migrations.

    Raises:
        StorageError: if it can't be opened, or was written by a newer version.
    """
    database = _database(address, _PRAGMAS)
    with _opening(database, address):
        migrate(database)
    if isinstance(database, SqliteDatabase):
        database.timeout = _BUSY_TIMEOUT_S
    return database


def open_database_read_only(address: Address) -> Database:
    """Open an existing database read-only, because a server may be using it.

    Raises:
        StorageError: if it can't be read, or is of another version.
    """
    database = _database(address, _READ_ONLY_PRAGMAS, options="-c default_transaction_read_only=on")
    with _opening(database, address):
        check_is_current()
    return database


def transaction() -> AbstractContextManager[object]:
    """Return a context manager that makes the writes inside atomic."""
    database = RunRow._meta.database
    # Immediate: fails on a lock at the start, before anything was read or written.
    mode = ("IMMEDIATE",) if isinstance(database, SqliteDatabase) else ()
    context: AbstractContextManager[object] = database.atomic(*mode)
    return context


def contains_text(field: Field, text: str) -> Expression:
    """Return the condition that a column contains `text` literally."""
    is_sqlite = isinstance(RunRow._meta.database, SqliteDatabase)
    find = fn.INSTR if is_sqlite else fn.STRPOS
    found: Expression = find(field, Value(text, converter=False)) > 0
    return found


class _Postgresql(PostgresqlDatabase):
    """A PostgreSQL database that reconnects after its server was unreachable."""

    def execute_sql(self, sql: str, params: Any = None) -> Any:  # noqa: ANN401 - as peewee has it
        """Run a statement, after reconnecting if the connection is unusable."""
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
    """Connect; if the database turns out to be unusable, close it and raise the reason."""
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
def translate_outages() -> Iterator[None]:
    """Raise temporary database failures as `NotWrittenError`."""
    try:
        yield
    except (PeeweeException, sqlite3.Error) as error:
        outage = _outage(error)
        if outage is None:
            raise
        raise outage from error


def _outage(error: BaseException | None) -> NotWrittenError | None:
    while error is not None:
        # SQLite's own error is the first argument of peewee's. A rollback that fails because
        # SQLite has already rolled back hides the cause, which is then its context.
        own = error.args[0] if isinstance(error, PeeweeException) and error.args else error
        code = getattr(own, "sqlite_errorcode", 0) & 0xFF
        if code in _LOCKED:
            return DatabaseLockedError()
        if code == sqlite3.SQLITE_FULL:
            return DiskFullError()
        if code in _BROKEN:
            return NotWrittenError(str(own))
        if _is_unreachable(error):
            return NotWrittenError("its server does not answer")
        error = error.__context__
    return None


def _is_unreachable(error: BaseException) -> bool:
    is_postgresql = isinstance(RunRow._meta.database, PostgresqlDatabase)
    return is_postgresql and isinstance(error, OperationalError | InterfaceError)
