"""Demonstrations: episodes that users played and saved, private to them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from app.accounts import OverLimitError, Principal, UnknownThingError
from app.authoring.tryouts.tryout import Tryout
from storage import DiskFullError
from storage.files import DemonstrationFolder, LabFolder
from storage.records import Demonstration

_LIMIT = 200


class Demonstrations:
    """Stores demonstrations; each user sees only their own."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder

    async def save(self, principal: Principal, tryout: Tryout) -> Demonstration:
        """Save the episode that was just completed.

        Raises:
            AccessError: if there is none, or the user has too many.
            DiskFullError: if the disk is full.
        """
        principal.check_works()
        tryout.check_can_be_saved()
        if len(await self.list(principal)) >= _LIMIT:
            raise OverLimitError(f"You have {_LIMIT} demonstrations. Delete some first.")
        recording = tryout.recording.copy()
        content = await asyncio.to_thread(recording.as_npz, tryout.spec.id)
        try:
            return await asyncio.to_thread(
                self._of(principal).save,
                content,
                env_id=tryout.spec.id,
                seed=recording.seed,
                steps=recording.steps,
                total=recording.total,
                has_observations=recording.has_observations,
            )
        except OSError as error:
            raise DiskFullError from error

    async def list(
        self, principal: Principal, env_id: str | None = None
    ) -> Sequence[Demonstration]:
        """Return the principal's demonstrations, newest first."""
        principal.check()
        found = await asyncio.to_thread(self._of(principal).list)
        return [one for one in found if env_id in (None, one.env_id)]

    async def path(self, principal: Principal, demonstration_id: str) -> Path:
        """Return the file of a demonstration.

        Raises:
            UnknownThingError: if the principal has none with this id.
        """
        principal.check()
        path = await asyncio.to_thread(self._of(principal).find, demonstration_id)
        if path is None:
            raise _unknown(demonstration_id)
        return path

    async def delete(self, principal: Principal, demonstration_id: str) -> None:
        """Delete a demonstration.

        Raises:
            UnknownThingError: if the principal has none with this id.
        """
        principal.check_works()
        if not await asyncio.to_thread(self._of(principal).remove, demonstration_id):
            raise _unknown(demonstration_id)

    def _of(self, principal: Principal) -> DemonstrationFolder:
        return DemonstrationFolder.of(self._folder, principal.id)


def _unknown(demonstration_id: str) -> UnknownThingError:
    return UnknownThingError(f"There is no demonstration {demonstration_id[:40]!r}.")
