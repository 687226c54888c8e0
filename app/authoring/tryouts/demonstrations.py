"""Keep episodes that people played, each for who played it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from app.accounts.errors import OverLimitError, UnknownThingError
from app.accounts.visitors import Visitor
from app.authoring.tryouts.tryout import Tryout
from storage.errors import DiskFullError
from storage.files.demonstrations import Demonstration, DemonstrationFolder
from storage.files.lab_folder import LabFolder

_MOST = 200


class Demonstrations:
    """What somebody did well enough to be learned from; nobody else sees it."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder

    async def keep(self, visitor: Visitor, tryout: Tryout) -> Demonstration:
        """Keep the episode that was just played to its end.

        Raises:
            AccessError: if there is none, or too many were kept.
            DiskFullError: if there is no room for it.
        """
        visitor.check_works()
        tryout.check_can_be_kept()
        if len(await self.list(visitor)) >= _MOST:
            raise OverLimitError(f"You have {_MOST} demonstrations. Delete some first.")
        recording = tryout.recording.copy()
        content = await asyncio.to_thread(recording.as_npz, tryout.spec.id)
        try:
            return await asyncio.to_thread(
                self._of(visitor).save,
                content,
                env_id=tryout.spec.id,
                seed=recording.seed,
                steps=recording.steps,
                total=recording.total,
                has_observations=recording.has_observations,
            )
        except OSError as error:
            raise DiskFullError from error

    async def list(self, visitor: Visitor, env_id: str | None = None) -> Sequence[Demonstration]:
        """Return the visitor's own, newest first."""
        visitor.check()
        found = await asyncio.to_thread(self._of(visitor).list)
        return [one for one in found if env_id in (None, one.env_id)]

    async def path(self, visitor: Visitor, demonstration_id: str) -> Path:
        """Return where the numbers of one are.

        Raises:
            UnknownThingError: if they have none of this id.
        """
        visitor.check()
        path = await asyncio.to_thread(self._of(visitor).find, demonstration_id)
        if path is None:
            raise _unknown(demonstration_id)
        return path

    async def delete(self, visitor: Visitor, demonstration_id: str) -> None:
        """Delete one.

        Raises:
            UnknownThingError: if they have none of this id.
        """
        visitor.check_works()
        if not await asyncio.to_thread(self._of(visitor).remove, demonstration_id):
            raise _unknown(demonstration_id)

    def _of(self, visitor: Visitor) -> DemonstrationFolder:
        person = visitor.person
        return DemonstrationFolder.of(self._folder, None if person is None else person.id)


def _unknown(demonstration_id: str) -> UnknownThingError:
    return UnknownThingError(f"There is no demonstration {demonstration_id[:40]!r}.")
