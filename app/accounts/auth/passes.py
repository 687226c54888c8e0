"""Passes at hand: finds what a cookie or a token stands for, and ends it everywhere at once."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from app.accounts.auth.secrets import digest
from app.accounts.directory import Directory
from app.accounts.visitors import Pass
from app.core.storage_thread import StorageThread
from storage.database.accounts import sessions, tokens
from storage.errors import NotWrittenError
from storage.records.accounts import PersonRecord

_TOUCH_EVERY = timedelta(minutes=1)


class Passes:
    """One pass per session and token that is in use, for all who serve it."""

    def __init__(self, storage: StorageThread, directory: Directory) -> None:
        self._storage = storage
        self._directory = directory
        self._known: dict[str, Pass] = {}
        self._endings = 0

    def knows(self, shown: str) -> bool:
        """Whether a cookie or a token was shown before, so that nobody has to look it up."""
        return digest(shown) in self._known

    async def of_session(self, shown: str) -> Pass | None:
        """Return what a browser's cookie stands for, if for anything."""
        return await self._find(digest(shown), self._read_session)

    async def of_token(self, shown: str) -> Pass | None:
        """Return what a program's token stands for, if for anything."""
        return await self._find(digest(shown), self._read_token)

    def update(self, person: PersonRecord) -> None:
        """Let all passes of somebody know what they may do now; a blocked person's end."""
        for known in self._of(person.id):
            known.person = person
        if person.is_blocked:
            self.end_of(person.id)

    def end_session(self, session_id: str) -> None:
        """End the pass of a session that was forgotten."""
        self._end(lambda known: known.session_id == session_id)

    def end_token(self, token_id: str) -> None:
        """End the pass of a token that was revoked."""
        self._end(lambda known: known.token_id == token_id)

    def end_expired(self, now: datetime) -> None:
        """End the passes whose time is over."""
        self._end(lambda known: known.has_expired(now))

    def end_of(self, person_id: str, *, but: str | None = None) -> None:
        """End the passes of somebody's sessions but one; without exception also of their tokens."""

        def goes(known: Pass) -> bool:
            is_theirs = known.person is not None and known.person.id == person_id
            stays = but is not None and (known.session_id == but or known.token_id is not None)
            return is_theirs and not stays

        self._end(goes)

    def end_sessions_of(self, person_id: str) -> None:
        """End the passes of all of somebody's sessions; their tokens stay."""
        self.end_of(person_id, but="none")

    def _of(self, person_id: str) -> list[Pass]:
        known = self._known.values()
        return [one for one in known if one.person is not None and one.person.id == person_id]

    def _end(self, goes: Callable[[Pass], bool]) -> None:
        self._endings += 1
        for key, known in list(self._known.items()):
            if goes(known):
                del self._known[key]
                known.end()

    async def _find(self, key: str, read: Callable[[str], Awaitable[Pass | None]]) -> Pass | None:
        found = self._known.get(key)
        while found is None:
            before = self._endings
            made = await read(key)
            if made is None:
                return None
            # What ended while it was read must not come back to life.
            if before == self._endings:
                found = self._known.setdefault(key, made)
        if found.is_over:
            self._known.pop(key, None)
            return None
        await self._touch(found)
        return found

    async def _read_session(self, key: str) -> Pass | None:
        session = await self._storage(sessions.find_session, key)
        person = self._directory.get(session.person_id) if session else None
        if session is None or person is None or person.is_blocked:
            return None
        return Pass(person, session_id=session.id, expires_at=session.expires_at)

    async def _read_token(self, key: str) -> Pass | None:
        token = await self._storage(tokens.find_token, key)
        person = self._directory.get(token.person_id) if token else None
        if token is None or person is None or person.is_blocked:
            return None
        return Pass(person, token_id=token.id, scope=token.scope)

    async def _touch(self, found: Pass) -> None:
        """Note when it was last used, though not at every request."""
        now = datetime.now(UTC)
        if found.touched_at is not None and now - found.touched_at < _TOUCH_EVERY:
            return
        found.touched_at = now
        # Not worth refusing a request for.
        with suppress(NotWrittenError):
            if found.session_id is not None:
                await self._storage(sessions.touch_session, found.session_id)
            elif found.token_id is not None:
                await self._storage(tokens.touch_token, found.token_id)
