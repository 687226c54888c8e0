"""Keep the rewards that people save, each for who wrote it."""

import asyncio
from collections.abc import Sequence

from app.accounts.errors import OverLimitError
from app.accounts.visitors import Visitor
from app.code_check.static_check import LONGEST
from app.core.errors import InputError
from storage.errors import DiskFullError
from storage.files.lab_folder import LabFolder
from storage.files.reward_versions import RewardShelf, RewardVersion

KEPT = 30
"""How many versions stay for each environment."""
_MOST_ENVIRONMENTS = 200


class RewardVersions:
    """What somebody wrote for an environment, as often as they saved it; nobody else sees it."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder
        self._one_at_a_time = asyncio.Lock()

    async def list(self, visitor: Visitor, env_id: str) -> Sequence[RewardVersion]:
        """Return the visitor's own, newest first."""
        visitor.check()
        return await asyncio.to_thread(self._of(visitor).list, env_id)

    async def save(self, visitor: Visitor, env_id: str, code: str) -> RewardVersion:
        """Keep a reward, right or wrong.

        Raises:
            AccessError: if the visitor only looks, or has rewards for too many environments.
            InputError: if it is too long.
            DiskFullError: if there is no room for it.
        """
        visitor.check_works()
        try:
            size = len(code.encode())
        except UnicodeEncodeError:
            raise InputError("code has half a character in it. Delete it.", field="code") from None
        if size > LONGEST:
            raise InputError(f"code is longer than {LONGEST >> 10} KiB. Save less.", field="code")
        shelf = self._of(visitor)
        async with self._one_at_a_time:
            if not await asyncio.to_thread(shelf.list, env_id):
                await self._check_room(shelf)
            try:
                return await asyncio.to_thread(shelf.save, env_id, code, keep=KEPT)
            except OSError as error:
                raise DiskFullError from error

    async def _check_room(self, shelf: RewardShelf) -> None:
        if await asyncio.to_thread(lambda: shelf.environments) >= _MOST_ENVIRONMENTS:
            raise OverLimitError(
                f"You have rewards for {_MOST_ENVIRONMENTS} environments. Copy this one elsewhere."
            )

    def _of(self, visitor: Visitor) -> RewardShelf:
        person = visitor.person
        return RewardShelf.of(self._folder, None if person is None else person.id)
