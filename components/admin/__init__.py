"""Tables for administrators."""

from components.admin.addresses import server_url
from components.admin.audit_table import AuditTable
from components.admin.browser_names import browser_name
from components.admin.users_table import UsersTable

__all__ = ["AuditTable", "UsersTable", "browser_name", "server_url"]
