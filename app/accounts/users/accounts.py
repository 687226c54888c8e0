"""All account services, built once."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from app.accounts import Directory
from app.accounts.auth import (
    AccountServices,
    AuditLog,
    OpenId,
    Passes,
    Passwords,
    SigningIn,
    Vault,
    providers_of,
)
from app.accounts.users.administration import Administration
from app.accounts.users.password_resets import Resets
from app.accounts.users.profiles import Profiles
from app.core import Settings, StorageThread, Tasks
from storage import NotWrittenError
from storage.database.accounts import password_resets, sessions

_SWEEP_EVERY_S = 20.0
_TIDY_EVERY_S = 3_600.0


class Accounts:
    """Builds and provides the account services; unused on a server without accounts."""

    def __init__(self, settings: Settings, storage: StorageThread, *, secret: bytes) -> None:
        self.is_on = settings.has_accounts
        self._storage = storage
        self._passwords = Passwords(settings.bcrypt_cost)
        self.directory = Directory(storage, settings.default_registration)
        self.passes = Passes(storage, self.directory)
        self.audit = AuditLog(storage)
        services = AccountServices(
            storage=storage,
            directory=self.directory,
            passes=self.passes,
            passwords=self._passwords,
            audit=self.audit,
        )
        self.signing_in = SigningIn(services, is_on=self.is_on)
        self.profiles = Profiles(services, self.signing_in, Vault(secret))
        self.resets = Resets(services, self.signing_in)
        self.openid = OpenId(services, self.signing_in, providers_of(settings), secret=secret)
        self.administration = Administration(services)
        self._tasks = Tasks()
        if self.is_on:
            # Not in `open`: the server answers requests before that has finished.
            self.directory.read()
            self.signing_in.require_setup_code(settings.is_reachable)

    def open(self) -> None:
        """Start to end expired sessions and tidy the audit log periodically."""
        if self.is_on:
            self._tasks.start(self._sweep(), name="end expired sessions")
            self._tasks.start(self._tidy(), name="tidy the audit log")

    async def close(self) -> None:
        """Cancel the periodic tasks and end the bcrypt threads."""
        await self._tasks.cancel()
        self._passwords.close()

    async def _sweep(self) -> None:
        while True:
            now = datetime.now(UTC)
            self.passes.end_expired(now)
            with suppress(NotWrittenError):
                await self._storage(sessions.forget_expired, now)
                await self._storage(password_resets.forget_expired, now)
            await asyncio.sleep(_SWEEP_EVERY_S)

    async def _tidy(self) -> None:
        while True:
            with suppress(NotWrittenError):
                await self.audit.tidy(datetime.now(UTC))
            await asyncio.sleep(_TIDY_EVERY_S)
