"""What the services around people share."""

from dataclasses import dataclass

from app.accounts.auth.audit_log import AuditLog
from app.accounts.auth.passes import Passes
from app.accounts.auth.passwords import Passwords
from app.accounts.directory import Directory
from app.core.storage_thread import StorageThread


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Everybody, what they showed, and what they did."""

    storage: StorageThread
    directory: Directory
    passes: Passes
    passwords: Passwords
    audit: AuditLog
