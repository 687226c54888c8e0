"""All services around people, built once."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from app.accounts.auth.audit_log import AuditLog
from app.accounts.auth.context import Surroundings
from app.accounts.auth.openid import OpenId
from app.accounts.auth.passes import Passes
from app.accounts.auth.passwords import Passwords
from app.accounts.auth.providers import providers_of
from app.accounts.auth.secrets import Vault
from app.accounts.auth.sign_in import SigningIn
from app.accounts.directory import Directory
from app.accounts.users.administration import Administration
from app.accounts.users.password_resets import Resets
from app.accounts.users.profiles import Profiles
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from app.core.tasks import Tasks
from storage.database.accounts import resets, sessions
from storage.errors import NotWrittenError

_SWEEP_EVERY_S = 20.0
_TIDY_EVERY_S = 3_600.0


class Accounts:
    """Hands out the services around people; on a server without accounts they are never asked."""

    def __init__(self, settings: Settings, storage: StorageThread, *, secret: bytes) -> None:
        self.is_on = settings.has_accounts
        self._storage = storage
        self._passwords = Passwords(settings.bcrypt_cost)
        self.directory = Directory(storage, settings.usual_registration)
        self.passes = Passes(storage, self.directory)
        self.audit = AuditLog(storage)
        around = Surroundings(
            storage=storage,
            directory=self.directory,
            passes=self.passes,
            passwords=self._passwords,
            audit=self.audit,
        )
        self.signing_in = SigningIn(around, is_on=self.is_on)
        self.profiles = Profiles(around, self.signing_in, Vault(secret))
        self.resets = Resets(around, self.signing_in)
        self.openid = OpenId(around, self.signing_in, providers_of(settings), secret=secret)
        self.administration = Administration(around)
        self._tasks = Tasks()
        if self.is_on:
            # Now, not when the server opens: it answers before that has come to its end.
            self.directory.read()
            self.signing_in.require_setup_code(settings.is_reachable)

    def open(self) -> None:
        """From now on end what expires."""
        if self.is_on:
            self._tasks.start(self._sweep(), name="end expired sessions")
            self._tasks.start(self._tidy(), name="tidy the audit log")

    async def close(self) -> None:
        """End what is under way."""
        await self._tasks.cancel()
        self._passwords.close()

    async def _sweep(self) -> None:
        while True:
            now = datetime.now(UTC)
            self.passes.end_expired(now)
            with suppress(NotWrittenError):
                await self._storage(sessions.forget_expired, now)
                await self._storage(resets.forget_expired, now)
            await asyncio.sleep(_SWEEP_EVERY_S)

    async def _tidy(self) -> None:
        while True:
            with suppress(NotWrittenError):
                await self.audit.tidy(datetime.now(UTC))
            await asyncio.sleep(_TIDY_EVERY_S)
