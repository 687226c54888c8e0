"""Avatars of users; uploaded images are decoded in a sandboxed worker only."""

import asyncio
from pathlib import Path

from app.accounts import Principal, UnknownThingError
from app.accounts.limits import Attempts
from app.accounts.users.profiles import Profiles
from app.core import InputError
from app.protocol import commands
from app.workers import MAX_IMAGE_BYTES, JobError, WorkerPool
from storage.files import LabFolder
from storage.records import UserRecord

MAX_AVATAR_BYTES = 1 << 20
"""Size limit of an uploaded picture, in bytes."""

_SIDE = 128
_WITHIN_S = 30.0


class Avatars:
    """Stores one small picture per user."""

    def __init__(self, folder: LabFolder, profiles: Profiles, pool: WorkerPool) -> None:
        self._folder = folder
        self._profiles = profiles
        self._pool = pool
        self._shrinking = asyncio.Lock()
        self._attempts = Attempts(10, within_s=600)

    async def change(self, principal: Principal, content: bytes) -> UserRecord:
        """Set the user's picture from an uploaded image.

        Raises:
            InputError: if it can't be read as an image.
        """
        user = principal.me
        self._attempts.add(user.id, what="pictures")
        if len(content) > MAX_AVATAR_BYTES:
            raise InputError("A picture may have at most 1 MiB.", field="avatar")
        async with self._shrinking:
            picture = await self._shrink(content)
        principal.check()
        await asyncio.to_thread(self._folder.save_avatar, user.id, picture)
        return await self._profiles.note_avatar(principal, has_one=True)

    async def remove(self, principal: Principal) -> UserRecord:
        """Remove the user's picture."""
        await asyncio.to_thread(self._folder.remove_avatar, principal.me.id)
        return await self._profiles.note_avatar(principal, has_one=False)

    def path(self, user: UserRecord | None) -> Path:
        """Return the file of a user's picture.

        Raises:
            UnknownThingError: if the user has none.
        """
        if user is None or user.avatar_at is None:
            raise UnknownThingError("There is no such picture.")
        return self._folder.avatar(user.id)

    async def _shrink(self, content: bytes) -> bytes:
        try:
            command, file = commands.Shrink(side=_SIDE), ("avatar.png", content)
            async with self._pool.job(command, file=file, within_s=_WITHIN_S) as job:
                return await job.file("avatar.png", at_most=MAX_IMAGE_BYTES)
        except JobError:
            raise InputError(
                "This can't be read as a picture. Send a PNG, JPEG, WebP or GIF.", field="avatar"
            ) from None


def avatar_url(user: UserRecord) -> str | None:
    """Return the URL of a user's picture, which changes with the picture."""
    if user.avatar_at is None:
        return None
    return f"/api/people/{user.id}/avatar.png?{int(user.avatar_at.timestamp())}"
