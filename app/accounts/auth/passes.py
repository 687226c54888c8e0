"""Cache of passes: looks up session cookies and API tokens, and ends passes everywhere at once."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from app.accounts import Directory, Pass
from app.accounts.auth.secrets import digest
from app.core import StorageThread
from storage import NotWrittenError
from storage.database.accounts import sessions, tokens
from storage.records import UserRecord

_TOUCH_EVERY = timedelta(minutes=1)


class Passes:
    """Holds one pass per active session and API token, shared by all its requests."""

    def __init__(self, storage: StorageThread, directory: Directory) -> None:
        self._storage = storage
        self._directory = directory
        self._known: dict[str, Pass] = {}
        self._endings = 0

    def knows(self, secret: str) -> bool:
        """Whether a session or API token is cached, so that it needs no database lookup."""
        return digest(secret) in self._known

    async def of_session(self, token: str) -> Pass | None:
        """Return the pass for the session token in a browser's cookie, if it is valid."""
        return await self._find(digest(token), self._read_session)

    async def of_token(self, token: str) -> Pass | None:
        """Return the pass for a program's API token, if it is valid."""
        return await self._find(digest(token), self._read_token)

    def update(self, user: UserRecord) -> None:
        """Apply a user's new rights to their passes; end those of a blocked user."""
        for known in self._of(user.id):
            known.user = user
        if user.is_blocked:
            self.end_of(user.id)

    def end_session(self, session_id: str) -> None:
        """End the pass of a session."""
        self._end(lambda known: known.session_id == session_id)

    def end_token(self, token_id: str) -> None:
        """End the pass of an API token."""
        self._end(lambda known: known.token_id == token_id)

    def end_expired(self, now: datetime) -> None:
        """End the passes that have expired."""
        self._end(lambda known: known.has_expired(now))

    def end_of(self, user_id: str, *, but: str | None = None) -> None:
        """End all passes of a user; with `but`, keep that session and all API tokens."""

        def matches(known: Pass) -> bool:
            is_theirs = known.user is not None and known.user.id == user_id
            is_kept = but is not None and (known.session_id == but or known.token_id is not None)
            return is_theirs and not is_kept

        self._end(matches)

    def end_sessions_of(self, user_id: str) -> None:
        """End the passes of all sessions of a user, but not of their API tokens."""
        self.end_of(user_id, but="none")

    def _of(self, user_id: str) -> list[Pass]:
        passes = self._known.values()
        return [known for known in passes if known.user is not None and known.user.id == user_id]

    def _end(self, matches: Callable[[Pass], bool]) -> None:
        self._endings += 1
        for key, known in list(self._known.items()):
            if matches(known):
                del self._known[key]
                known.end()

    async def _find(self, key: str, read: Callable[[str], Awaitable[Pass | None]]) -> Pass | None:
        found = self._known.get(key)
        while found is None:
            before = self._endings
            made = await read(key)
            if made is None:
                return None
            # A pass that was ended during the read must not be cached as valid.
            if before == self._endings:
                found = self._known.setdefault(key, made)
        if found.is_over:
            self._known.pop(key, None)
            return None
        await self._touch(found)
        return found

    async def _read_session(self, key: str) -> Pass | None:
        session = await self._storage(sessions.find_session, key)
        user = self._directory.get(session.user_id) if session else None
        if session is None or user is None or user.is_blocked:
            return None
        return Pass(user, session_id=session.id, expires_at=session.expires_at)

    async def _read_token(self, key: str) -> Pass | None:
        token = await self._storage(tokens.find_token, key)
        user = self._directory.get(token.user_id) if token else None
        if token is None or user is None or user.is_blocked:
            return None
        return Pass(user, token_id=token.id, scope=token.scope)

    async def _touch(self, found: Pass) -> None:
        """Store the time of last use, at most once a minute."""
        now = datetime.now(UTC)
        if found.touched_at is not None and now - found.touched_at < _TOUCH_EVERY:
            return
        found.touched_at = now
        # A locked database is no reason to refuse the request.
        with suppress(NotWrittenError):
            if found.session_id is not None:
                await self._storage(sessions.touch_session, found.session_id)
            elif found.token_id is not None:
                await self._storage(tokens.touch_token, found.token_id)
