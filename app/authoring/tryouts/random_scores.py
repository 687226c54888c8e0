"""Returns of random actions in each environment, measured once and stored."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import msgspec

from storage.files import LabFolder

_MAX_EPISODES = 20
_MAX_ENVIRONMENTS = 1_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RandomScore:
    """The mean return of complete episodes with random actions."""

    mean: float
    episodes: int


class RandomScores:
    """Stores the measured returns in a file next to the runs."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder
        self._returns: dict[str, list[float]] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def get(self, env_id: str) -> RandomScore | None:
        """Return the score of an environment, if it was measured."""
        returns = (await self._all()).get(env_id)
        return RandomScore(fmean(returns), len(returns)) if returns else None

    async def add(self, env_id: str, returns: Sequence[float]) -> None:
        """Store the returns of further episodes, up to a maximum."""
        known = await self._all()
        so_far = known.get(env_id, [])
        if not returns or len(so_far) >= _MAX_EPISODES or len(known) >= _MAX_ENVIRONMENTS:
            return
        known[env_id] = [*so_far, *returns][:_MAX_EPISODES]
        try:
            async with self._one_at_a_time:
                content = msgspec.json.encode(known)
                await asyncio.to_thread(self._folder.save_random_scores, content)
        except OSError as error:
            _log.warning("The scores of random actions could not be stored: %s", error)

    async def _all(self) -> dict[str, list[float]]:
        if self._returns is None:
            content = await asyncio.to_thread(self._folder.read_random_scores)
            try:
                read = msgspec.json.decode(content or b"{}", type=dict[str, list[float]])
            except msgspec.DecodeError:
                _log.warning("The scores of random actions can't be read; measuring again")
                read = {}
            # Another task may have read it in the meantime.
            self._returns = self._returns or read
        return self._returns
