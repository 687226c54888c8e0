"""Read access to the database of a lab, also while a server uses it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core import Settings
from storage.database import open_database_read_only


@contextmanager
def lab_to_read(settings: Settings) -> Iterator[bool]:
    """Open the database for `storage.database.runs` etc.; yield whether it exists.

    Raises:
        StorageError: if it can't be read.
    """
    address = settings.database_address
    if isinstance(address, Path) and not address.is_file():
        yield False
        return
    database = open_database_read_only(address)
    try:
        yield True
    finally:
        database.close()
