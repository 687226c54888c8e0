"""What random actions are worth in each environment, measured once and kept."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import msgspec

from storage.files.lab_folder import LabFolder

_MOST_EPISODES = 20
_MOST_KEPT = 1_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RandomScore:
    """The mean return of whole episodes with random actions."""

    mean: float
    episodes: int


class RandomScores:
    """Remembers what was measured, in a file beside the runs."""

    def __init__(self, folder: LabFolder) -> None:
        self._folder = folder
        self._returns: dict[str, list[float]] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def get(self, env_id: str) -> RandomScore | None:
        """Return what was measured, if anything was."""
        returns = (await self._all()).get(env_id)
        return RandomScore(fmean(returns), len(returns)) if returns else None

    async def add(self, env_id: str, returns: Sequence[float]) -> None:
        """Keep what further episodes were worth, up to as many as are worth keeping."""
        known = await self._all()
        so_far = known.get(env_id, [])
        if not returns or len(so_far) >= _MOST_EPISODES or len(known) >= _MOST_KEPT:
            return
        known[env_id] = [*so_far, *returns][:_MOST_EPISODES]
        try:
            async with self._one_at_a_time:
                content = msgspec.json.encode(known)
                await asyncio.to_thread(self._folder.save_random_scores, content)
        except OSError as error:
            _log.warning("What random actions are worth could not be kept: %s", error)

    async def _all(self) -> dict[str, list[float]]:
        if self._returns is None:
            content = await asyncio.to_thread(self._folder.read_random_scores)
            try:
                read = msgspec.json.decode(content or b"{}", type=dict[str, list[float]])
            except msgspec.DecodeError:
                _log.warning("What random actions are worth can't be read; measuring again")
                read = {}
            # Another may have read it meanwhile.
            self._returns = self._returns or read
        return self._returns
