"""Dependencies that the account services share."""

from dataclasses import dataclass

from app.accounts import Directory
from app.accounts.auth.audit_log import AuditLog
from app.accounts.auth.passes import Passes
from app.accounts.auth.passwords import Passwords
from app.core import StorageThread


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountServices:
    """Storage, users, passes, password hashing and the audit log."""

    storage: StorageThread
    directory: Directory
    passes: Passes
    passwords: Passwords
    audit: AuditLog
