"""The database (SQLite or PostgreSQL) and its queries."""

from storage.database.database import (
    Address,
    open_database,
    open_database_read_only,
    transaction,
    translate_outages,
)
from storage.database.lineage import family
from storage.database.sharing_rights import Shareable, rights
from storage.database.sketches import Sketcher, sketch

__all__ = [
    "Address",
    "Shareable",
    "Sketcher",
    "family",
    "open_database",
    "open_database_read_only",
    "rights",
    "sketch",
    "transaction",
    "translate_outages",
]
