"""Principals: who makes a request, with which credential, and what they may do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from app.accounts.errors import (
    AccountsOffError,
    ForbiddenError,
    HiddenError,
    NotSignedInError,
    ReadOnlyTokenError,
)
from storage import RunNotFoundError
from storage.database import Shareable, rights
from storage.records import Role, RunRecord, TokenScope, UserRecord


class Pass:
    """An active session or API token, shared by everything that serves its principal.

    When it ends, open pages and streams are notified at once.
    """

    def __init__(
        self,
        user: UserRecord | None,
        *,
        session_id: str | None = None,
        token_id: str | None = None,
        scope: TokenScope = TokenScope.WRITE,
        expires_at: datetime | None = None,
    ) -> None:
        self.user = user
        """None: the server has no accounts, and any client may do everything."""
        self.session_id = session_id
        self.token_id = token_id
        self.scope = scope
        self.touched_at: datetime | None = None
        self._expires_at = expires_at
        self._has_ended = False
        self._callbacks: set[Callable[[], None]] = set()

    @property
    def is_over(self) -> bool:
        """Whether it has ended or expired."""
        return self._has_ended or self.has_expired(datetime.now(UTC))

    def has_expired(self, now: datetime) -> bool:
        """Whether it has expired."""
        return self._expires_at is not None and now >= self._expires_at

    def end(self) -> None:
        """Invalidate it, and notify everything that serves the principal."""
        self._has_ended = True
        for callback in list(self._callbacks):
            callback()

    @contextmanager
    def calling_at_end(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` if the pass is ended within the context."""
        self._callbacks.add(callback)
        try:
            yield
        finally:
            self._callbacks.discard(callback)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request, and from which address."""

    credential: Pass
    address: str = ""

    @property
    def user(self) -> UserRecord | None:
        """The user with their current rights; None where accounts are off."""
        return self.credential.user

    @property
    def id(self) -> str | None:
        """The user's id; None where accounts are off."""
        return None if self.credential.user is None else self.credential.user.id

    @property
    def me(self) -> UserRecord:
        """The user, for actions that need an account.

        Raises:
            AccountsOffError: if the server has no accounts.
            NotSignedInError: if they have been signed out.
        """
        self.check()
        if self.credential.user is None:
            raise AccountsOffError
        return self.credential.user

    @property
    def is_admin(self) -> bool:
        """Whether they are an administrator, or accounts are off."""
        return self.user is None or self.user.is_admin

    @property
    def may_work(self) -> bool:
        """Whether they may create and change things: no viewer, no read-only token."""
        is_viewer = self.user is not None and self.user.role is Role.VIEWER
        return not is_viewer and self.credential.scope is TokenScope.WRITE

    def sees(self, thing: Shareable) -> bool:
        """Whether they may see a run or an environment."""
        return not self.credential.is_over and rights(self.user, thing).see

    def changes(self, thing: Shareable) -> bool:
        """Whether they may change a run or an environment."""
        return self.sees(thing) and self.may_work and rights(self.user, thing).change

    def check(self) -> None:
        """Check that they are still signed in.

        Raises:
            NotSignedInError: if they aren't.
        """
        if self.credential.is_over:
            raise NotSignedInError

    def check_sees(self, run: RunRecord) -> None:
        """Check that they may see a run.

        Raises:
            AccessError: if they may not.
        """
        self.check()
        if not self.sees(run):
            raise HiddenError(str(RunNotFoundError(run.id)))

    def check_works(self) -> None:
        """Check that they may create and change things.

        Raises:
            AccessError: if they may not.
        """
        self.check()
        if self.credential.scope is TokenScope.READ:
            raise ReadOnlyTokenError
        if not self.may_work:
            raise ForbiddenError(
                "Viewers have read-only access. An administrator can make you a member."
            )

    def check_changes(self, run: RunRecord) -> None:
        """Check that they may change a run.

        Raises:
            AccessError: if they may not.
        """
        self.check_sees(run)
        self.check_works()
        if not self.changes(run):
            raise ForbiddenError(f"Run {run.id} is not yours. Only its owner may change it.")

    def check_admin(self) -> None:
        """Check that they are an administrator.

        Raises:
            AccessError: if they aren't.
        """
        if not self.me.is_admin:
            raise ForbiddenError("Only administrators may do this.")


NO_ACCOUNTS = Principal(Pass(None))
"""The principal of every request where accounts are off."""
