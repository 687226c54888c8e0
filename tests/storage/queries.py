"""Record the queries of a database."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from peewee import Database


@contextmanager
def queries_of(database: Database) -> Iterator[list[str]]:
    queries: list[str] = []
    execute = database.execute_sql

    def note(sql: str, *more: Any) -> Any:
        queries.append(sql)
        return execute(sql, *more)

    database.execute_sql = note
    yield queries
    database.execute_sql = execute
