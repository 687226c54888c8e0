"""People's pictures: what they send is opened in a locked worker and nowhere else."""

import asyncio
from pathlib import Path

from app.accounts.errors import UnknownThingError
from app.accounts.limits.attempts import Attempts
from app.accounts.users.profiles import Profiles
from app.accounts.visitors import Visitor
from app.core.errors import InputError
from app.protocol import commands
from app.workers.errors import JobError
from app.workers.pool import LARGEST_PICTURE, WorkerPool
from storage.files.lab_folder import LabFolder
from storage.records.accounts import PersonRecord

LARGEST = 1 << 20
"""The largest picture that can be sent, in bytes."""

_SIDE = 128
_WITHIN_S = 30.0


class Avatars:
    """Keeps one small picture per person."""

    def __init__(self, folder: LabFolder, profiles: Profiles, pool: WorkerPool) -> None:
        self._folder = folder
        self._profiles = profiles
        self._pool = pool
        self._one_at_a_time = asyncio.Lock()
        self._attempts = Attempts(10, within_s=600)

    async def change(self, visitor: Visitor, content: bytes) -> PersonRecord:
        """Make somebody's picture of what they sent.

        Raises:
            InputError: if it is none.
        """
        person = visitor.me
        self._attempts.add(person.id, what="pictures")
        if len(content) > LARGEST:
            raise InputError("A picture may have at most 1 MiB.", field="avatar")
        async with self._one_at_a_time:
            picture = await self._shrink(content)
        visitor.check()
        await asyncio.to_thread(self._folder.save_avatar, person.id, picture)
        return await self._profiles.note_avatar(visitor, has_one=True)

    async def remove(self, visitor: Visitor) -> PersonRecord:
        """Forget somebody's picture."""
        await asyncio.to_thread(self._folder.remove_avatar, visitor.me.id)
        return await self._profiles.note_avatar(visitor, has_one=False)

    def path(self, person: PersonRecord | None) -> Path:
        """Return where somebody's picture lies.

        Raises:
            UnknownThingError: if they have none.
        """
        if person is None or person.avatar_at is None:
            raise UnknownThingError("There is no such picture.")
        return self._folder.avatar(person.id)

    async def _shrink(self, content: bytes) -> bytes:
        try:
            command, file = commands.Shrink(side=_SIDE), ("avatar.png", content)
            async with self._pool.job(command, file=file, within_s=_WITHIN_S) as job:
                return await job.file("avatar.png", at_most=LARGEST_PICTURE)
        except JobError:
            raise InputError(
                "This can't be read as a picture. Send a PNG, JPEG, WebP or GIF.", field="avatar"
            ) from None


def avatar_url(person: PersonRecord) -> str | None:
    """Return where somebody's picture is; a new one has a new address."""
    if person.avatar_at is None:
        return None
    return f"/api/people/{person.id}/avatar.png?{int(person.avatar_at.timestamp())}"
