"""Checks of single settings and of their combinations."""

import os
from ipaddress import ip_address
from typing import TYPE_CHECKING

from app.core.errors import SettingsError
from storage.records import Registration

if TYPE_CHECKING:
    from app.core.settings import Settings

SQLITE = "sqlite:///"
POSTGRESQL = "postgresql://"

_SHORTEST_SECRET = 16


def check(settings: "Settings") -> None:
    """Refuse settings that are invalid or contradict each other.

    Raises:
        SettingsError: with a way out.
    """
    if settings.auth not in {"auto", "on", "off"}:
        raise SettingsError(f"--auth must be auto, on or off, got {settings.auth!r}.")
    if settings.database and not settings.database.startswith((SQLITE, POSTGRESQL)):
        # The message omits the value: it may contain a password.
        raise SettingsError(
            "RL_LAB_DATABASE must look like sqlite:///path/to/lab.db or "
            "postgresql://user:password@host/name."
        )
    if settings.registration not in {"", *Registration}:
        allowed = ", ".join(Registration)
        raise SettingsError(
            f"RL_LAB_REGISTRATION must be one of {allowed}, got {settings.registration!r}."
        )
    _check_reachability(settings)


def _check_reachability(settings: "Settings") -> None:
    if settings.is_reachable and settings.auth == "off":
        raise SettingsError(
            "--auth off serves this machine only, so it can't be combined with --proxy or --host "
            f"{settings.host}. Omit --auth, or use --host 127.0.0.1."
        )
    _check_tls(settings)
    if settings.proxy:
        try:
            ip_address(settings.proxy)
        except ValueError:
            raise SettingsError(
                f"--proxy must be one address such as 127.0.0.1, got {settings.proxy!r}."
            ) from None
    if settings.secret and len(settings.secret) < _SHORTEST_SECRET:
        raise SettingsError(
            f"RL_LAB_SECRET must be at least {_SHORTEST_SECRET} characters long and hard to guess."
        )
    _check_providers(settings)


def _check_tls(settings: "Settings") -> None:
    if bool(settings.cert) != bool(settings.key):
        raise SettingsError("--cert and --key belong together: https needs both files.")
    for name in ("cert", "key"):
        path = getattr(settings, name)
        if path and not os.access(path, os.R_OK):
            raise SettingsError(f"--{name} must be a file that can be read, got {path!r}.")


def _check_providers(settings: "Settings") -> None:
    for name in ("github", "google", "oidc"):
        if bool(getattr(settings, f"{name}_id")) != bool(getattr(settings, f"{name}_secret")):
            variable = f"RL_LAB_{name.upper()}"
            raise SettingsError(f"{variable}_ID and {variable}_SECRET belong together.")
    if bool(settings.oidc_issuer) != bool(settings.oidc_id):
        raise SettingsError("RL_LAB_OIDC_ISSUER and RL_LAB_OIDC_ID belong together.")
