"""Saved versions of custom rewards, private to their authors."""

import asyncio
from collections.abc import Sequence

from app.accounts import OverLimitError, Principal
from app.code_check import MAX_CODE_BYTES
from app.core import InputError
from storage import DiskFullError
from storage.files import LabFolder, RewardFolder, RewardVersion

MAX_VERSIONS = 30
"""Versions kept per environment; older ones are deleted."""
_MAX_ENVIRONMENTS = 200


class RewardVersions:
    """Stores the rewards that users save, per environment; each user sees only their own."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder
        self._one_at_a_time = asyncio.Lock()

    async def list(self, principal: Principal, env_id: str) -> Sequence[RewardVersion]:
        """Return the principal's versions, newest first."""
        principal.check()
        return await asyncio.to_thread(self._of(principal).list, env_id)

    async def save(self, principal: Principal, env_id: str, code: str) -> RewardVersion:
        """Store a reward, whether it works or not.

        Raises:
            AccessError: if the principal is a viewer, or has rewards for too many environments.
            InputError: if it is too long.
            DiskFullError: if the disk is full.
        """
        principal.check_works()
        try:
            size = len(code.encode())
        except UnicodeEncodeError:
            raise InputError("code has an unpaired surrogate. Delete it.", field="code") from None
        if size > MAX_CODE_BYTES:
            raise InputError(
                f"code is longer than {MAX_CODE_BYTES >> 10} KiB. Save less.", field="code"
            )
        folder = self._of(principal)
        async with self._one_at_a_time:
            if not await asyncio.to_thread(folder.list, env_id):
                await self._check_limit(folder)
            try:
                return await asyncio.to_thread(folder.save, env_id, code, keep=MAX_VERSIONS)
            except OSError as error:
                raise DiskFullError from error

    async def _check_limit(self, folder: RewardFolder) -> None:
        if await asyncio.to_thread(lambda: folder.environments) >= _MAX_ENVIRONMENTS:
            raise OverLimitError(
                f"You have rewards for {_MAX_ENVIRONMENTS} environments. Copy this one elsewhere."
            )

    def _of(self, principal: Principal) -> RewardFolder:
        return RewardFolder.of(self._folder, principal.id)
