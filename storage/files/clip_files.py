"""The time machine of one run on disk: moments of its training, and a short clip of each."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.files.atomic import Content, write_atomically
from storage.records.runs import JsonObject

_WAITS = ".policy"
"""How a policy ends whose clip isn't made yet; it is deleted once there is one."""
_CLIP = ".mp4"
_FACTS = ".json"


@dataclass(frozen=True, slots=True)
class ClipFiles:
    """A folder with at most one clip for each step, and the policies that wait for theirs."""

    path: Path

    def add(self, timesteps: int, policy: Content) -> None:
        """Keep the policy of a moment until its clip is made, in place of what there was of it.

        A policy may learn once more without a step in between.
        """
        self.path.mkdir(exist_ok=True)
        write_atomically(self._file(timesteps, _WAITS), policy)
        self._file(timesteps, _FACTS).unlink(missing_ok=True)
        self._file(timesteps, _CLIP).unlink(missing_ok=True)

    def moments(self) -> list[int]:
        """Return the steps that have a clip or wait for one, earliest first."""
        return sorted({*self._steps(_WAITS), *self._steps(_FACTS)})

    def waiting(self) -> list[int]:
        """Return the steps whose clip isn't made yet: those farthest from others' first."""
        made = self._steps(_FACTS)

        def nearness(step: int) -> tuple[int, int]:
            return -min((abs(step - one) for one in made), default=0), step

        return sorted(self._steps(_WAITS), key=nearness)

    def policy(self, timesteps: int) -> bytes | None:
        """Return the policy that waits for its clip, unless it is gone."""
        try:
            return self._file(timesteps, _WAITS).read_bytes()
        except FileNotFoundError:
            return None

    def save(self, timesteps: int, content: Content, facts: JsonObject, *, policy: bytes) -> bool:
        """Store the clip of a policy and return True, unless that was taken back meanwhile."""
        if self.policy(timesteps) != policy:
            return False
        write_atomically(self._file(timesteps, _CLIP), content)
        # The facts come last: a clip without them isn't one.
        write_atomically(self._file(timesteps, _FACTS), msgspec.json.encode(facts))
        self._file(timesteps, _WAITS).unlink(missing_ok=True)
        return True

    def facts(self) -> list[bytes]:
        """Return what is known of each clip, earliest first."""
        found = []
        for step in sorted(self._steps(_FACTS)):
            with suppress(FileNotFoundError):
                found.append(self._file(step, _FACTS).read_bytes())
        return found

    def clip(self, timesteps: int) -> Path:
        """Return where the clip of a step lies, which was found among the facts."""
        return self._file(timesteps, _CLIP)

    def thin_out(self, most: int, *, keep: frozenset[int] = frozenset()) -> None:
        """Drop moments until few enough are left, evenly: those whose neighbours are close.

        The first, the last and those in `keep` stay, and don't count.
        """
        moments = self.moments()
        while len(moments) - len(keep.intersection(moments)) > most:
            inner = [i for i in range(1, len(moments) - 1) if moments[i] not in keep]
            if not inner:
                return
            closest = min(inner, key=lambda i: moments[i + 1] - moments[i - 1])
            self.remove(moments.pop(closest))

    def cut_back(self, timesteps: int) -> None:
        """Drop what came after a step, because the run goes on from there."""
        for step in self.moments():
            if step > timesteps:
                self.remove(step)

    def remove(self, timesteps: int) -> None:
        """Drop a moment."""
        for ending in (_FACTS, _WAITS, _CLIP):
            self._file(timesteps, ending).unlink(missing_ok=True)

    def _file(self, timesteps: int, ending: str) -> Path:
        return self.path / f"{timesteps}{ending}"

    def _steps(self, ending: str) -> list[int]:
        found = (path.stem for path in self.path.glob(f"*{ending}"))
        return [int(name) for name in found if name.isdecimal()]


def runs_with_clips_to_make(runs: Path) -> list[str]:
    """Return the ids of runs in which a server left moments without a clip."""
    found = runs.glob(f"*/clips/*{_WAITS}")
    return sorted({path.parent.parent.name for path in found})
