"""Who asks: what they showed at the door, and what they may do because of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from app.accounts.errors import (
    AccessError,
    AccountsOffError,
    ForbiddenError,
    HiddenError,
    NotSignedInError,
    ReadOnlyTokenError,
)
from storage.errors import RunNotFoundError
from storage.records.accounts import PersonRecord, Role, TokenScope
from storage.records.runs import RunRecord, Visibility


class Pass:
    """What was shown at the door: everyone who serves the visitor holds the same one.

    When it ends, open pages and streams hear of it at once.
    """

    def __init__(
        self,
        person: PersonRecord | None,
        *,
        session_id: str | None = None,
        token_id: str | None = None,
        scope: TokenScope = TokenScope.WRITE,
        expires_at: datetime | None = None,
    ) -> None:
        self.person = person
        """None: the server has no accounts, and whoever can reach it may do everything."""
        self.session_id = session_id
        self.token_id = token_id
        self.scope = scope
        self.touched_at: datetime | None = None
        self._expires_at = expires_at
        self._has_ended = False
        self._when_over: set[Callable[[], None]] = set()

    @property
    def is_over(self) -> bool:
        """Whether it is worth nothing any more."""
        return self._has_ended or self.has_expired(datetime.now(UTC))

    def has_expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self._expires_at is not None and now >= self._expires_at

    def end(self) -> None:
        """Make it worthless and tell those who serve the visitor."""
        self._has_ended = True
        for tell in list(self._when_over):
            tell()

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """Call `tell` if the pass ends meanwhile."""
        self._when_over.add(tell)
        try:
            yield
        finally:
            self._when_over.discard(tell)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who asks, and from where."""

    shown: Pass
    address: str = ""

    @property
    def person(self) -> PersonRecord | None:
        """Who it is, as they stand right now; None where there are no accounts."""
        return self.shown.person

    @property
    def me(self) -> PersonRecord:
        """Who it is, for what only people with accounts can do.

        Raises:
            AccountsOffError: if the server has no accounts.
            NotSignedInError: if they are signed out meanwhile.
        """
        self.check()
        if self.shown.person is None:
            raise AccountsOffError
        return self.shown.person

    @property
    def is_admin(self) -> bool:
        """Whether they look after the lab."""
        return self.person is None or self.person.is_admin

    @property
    def may_work(self) -> bool:
        """Whether they may have runs of their own."""
        is_viewer = self.person is not None and self.person.role is Role.VIEWER
        return not is_viewer and self.shown.scope is TokenScope.WRITE

    def sees(self, run: RunRecord) -> bool:
        """Whether they may look at a run."""
        if self.shown.is_over:
            return False
        if self.person is None or self.is_admin or run.visibility is Visibility.EVERYONE:
            return True
        return run.owner == self.person.id or self.person.id in run.shared_with

    def changes(self, run: RunRecord) -> bool:
        """Whether they may change a run."""
        try:
            self.check_changes(run)
        except AccessError:
            return False
        return True

    def check(self) -> None:
        """Make sure that they are still signed in.

        Raises:
            NotSignedInError: if they aren't.
        """
        if self.shown.is_over:
            raise NotSignedInError

    def check_sees(self, run: RunRecord) -> None:
        """Make sure that they may look at a run.

        Raises:
            AccessError: if they may not.
        """
        self.check()
        if not self.sees(run):
            raise HiddenError(str(RunNotFoundError(run.id)))

    def check_works(self) -> None:
        """Make sure that they may make and change things.

        Raises:
            AccessError: if they may not.
        """
        self.check()
        if self.shown.scope is TokenScope.READ:
            raise ReadOnlyTokenError
        if not self.may_work:
            raise ForbiddenError("Viewers may only look. An administrator can make you a member.")

    def check_changes(self, run: RunRecord) -> None:
        """Make sure that they may change a run.

        Raises:
            AccessError: if they may not.
        """
        self.check_sees(run)
        self.check_works()
        if not self.is_admin and (self.person is None or run.owner != self.person.id):
            raise ForbiddenError(f"Run {run.id} is not yours. Only its owner may change it.")

    def check_admin(self) -> None:
        """Make sure that they look after the lab.

        Raises:
            AccessError: if they don't.
        """
        if not self.me.is_admin:
            raise ForbiddenError("This is for administrators.")


NO_ACCOUNTS = Visitor(Pass(None))
"""Whoever asks a server without accounts."""
