"""Read what a lab remembers, also beside a server that uses it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.settings import Settings
from storage.database.database import open_database_to_read


@contextmanager
def lab_to_read(settings: Settings) -> Iterator[bool]:
    """Open the database for `storage.database.runs` and the like; yield whether there is one.

    Raises:
        StorageError: if it can't be read.
    """
    address = settings.database_address
    if isinstance(address, Path) and not address.is_file():
        yield False
        return
    database = open_database_to_read(address)
    try:
        yield True
    finally:
        database.close()
