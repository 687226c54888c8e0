from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peewee import Database

from storage.database.database import Address, open_database
from storage.database.migrations import MIGRATIONS
from tests.storage import postgresql


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    programs = postgresql.binaries()
    if programs is None:
        pytest.skip(postgresql.MISSING)
    pytest.importorskip("psycopg")
    with postgresql.running(programs) as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Address:
    """The address of an empty database; tests that use it run on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return tmp_path / "lab.db"
    server: str = request.getfixturevalue("postgresql_server")
    empty(server)
    return server


@pytest.fixture
def database(address: Address) -> Iterator[Database]:
    opened = open_database(address)
    yield opened
    opened.close()


def empty(server: str) -> None:
    """Delete all data; up-to-date tables are kept, which is faster than creating new ones."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = {name for (name,) in found}
        if tables and _version(connection) == len(MIGRATIONS):
            for name in tables - {"schema_version"}:
                connection.execute(f"DELETE FROM {name}")
        else:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


def _version(connection: Any) -> int:
    version: int = connection.execute("SELECT version FROM schema_version").fetchone()[0]
    return version
