"""Authentication: passwords, sessions, API tokens, OpenID Connect; also the audit log."""

from app.accounts.auth.account_services import AccountServices
from app.accounts.auth.audit_log import NO_USER, AuditLog
from app.accounts.auth.openid import SIGN_IN_TIMEOUT_S, OpenId, SignedIn, UnlinkedIdentity
from app.accounts.auth.passes import Passes
from app.accounts.auth.passwords import (
    MAX_PASSWORD_LENGTH,
    MIN_PASSWORD_LENGTH,
    Passwords,
    check_password,
)
from app.accounts.auth.providers import providers_of
from app.accounts.auth.secrets import Vault, digest, new_api_token, new_code, typed_code
from app.accounts.auth.sign_in import SESSION_LASTS, Caller, SigningIn

__all__ = [
    "MAX_PASSWORD_LENGTH",
    "MIN_PASSWORD_LENGTH",
    "NO_USER",
    "SESSION_LASTS",
    "SIGN_IN_TIMEOUT_S",
    "AccountServices",
    "AuditLog",
    "Caller",
    "OpenId",
    "Passes",
    "Passwords",
    "SignedIn",
    "SigningIn",
    "UnlinkedIdentity",
    "Vault",
    "check_password",
    "digest",
    "new_api_token",
    "new_code",
    "providers_of",
    "typed_code",
]
