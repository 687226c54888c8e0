"""The time machine of one run on disk: policy snapshots of its training and a clip of each."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from storage.files.atomic import Content, write_atomically
from storage.records import JsonObject

_PENDING = ".policy"
"""Suffix of a policy whose clip is pending; the file is deleted once the clip exists."""
_CLIP = ".mp4"
_FACTS = ".json"


@dataclass(frozen=True, slots=True)
class ClipFiles:
    """A folder with at most one clip per step, and the policies whose clips are pending."""

    path: Path

    def add(self, timesteps: int, policy: Content) -> None:
        """Store a policy until its clip is made, replacing policy and clip of the same step.

        A policy may be updated again without a step in between.
        """
        self.path.mkdir(exist_ok=True)
        write_atomically(self._file(timesteps, _PENDING), policy)
        self._file(timesteps, _FACTS).unlink(missing_ok=True)
        self._file(timesteps, _CLIP).unlink(missing_ok=True)

    def steps(self) -> list[int]:
        """Return the steps that have a clip or a pending one, earliest first."""
        return sorted({*self._steps(_PENDING), *self._steps(_FACTS)})

    def waiting(self) -> list[int]:
        """Return the steps with a pending clip, those farthest from existing clips first."""
        made = self._steps(_FACTS)

        def nearness(step: int) -> tuple[int, int]:
            return -min((abs(step - one) for one in made), default=0), step

        return sorted(self._steps(_PENDING), key=nearness)

    def policy(self, timesteps: int) -> bytes | None:
        """Return the policy of a pending clip, or None if it was removed."""
        try:
            return self._file(timesteps, _PENDING).read_bytes()
        except FileNotFoundError:
            return None

    def save(self, timesteps: int, content: Content, facts: JsonObject, *, policy: bytes) -> bool:
        """Store the clip of a policy; return False if the policy was replaced or removed."""
        if self.policy(timesteps) != policy:
            return False
        write_atomically(self._file(timesteps, _CLIP), content)
        # Write the facts last: a clip without them is incomplete.
        write_atomically(self._file(timesteps, _FACTS), msgspec.json.encode(facts))
        self._file(timesteps, _PENDING).unlink(missing_ok=True)
        return True

    def facts(self) -> list[bytes]:
        """Return the stored facts of each clip, earliest first."""
        found = []
        for step in sorted(self._steps(_FACTS)):
            with suppress(FileNotFoundError):
                found.append(self._file(step, _FACTS).read_bytes())
        return found

    def clip(self, timesteps: int) -> Path:
        """Return the path of the clip of a step that `facts` lists."""
        return self._file(timesteps, _CLIP)

    def thin_out(self, most: int, *, keep: frozenset[int] = frozenset()) -> None:
        """Remove steps with the closest neighbours until at most `most` are left.

        The first, the last and those in `keep` stay; those in `keep` don't count.
        """
        steps = self.steps()
        while len(steps) - len(keep.intersection(steps)) > most:
            inner = [i for i in range(1, len(steps) - 1) if steps[i] not in keep]
            if not inner:
                return
            closest = min(inner, key=lambda i: steps[i + 1] - steps[i - 1])
            self.remove(steps.pop(closest))

    def cut_back(self, timesteps: int) -> None:
        """Remove all steps after this one, from which the run resumes."""
        for step in self.steps():
            if step > timesteps:
                self.remove(step)

    def remove(self, timesteps: int) -> None:
        """Remove the policy and clip of a step."""
        for ending in (_FACTS, _PENDING, _CLIP):
            self._file(timesteps, ending).unlink(missing_ok=True)

    def _file(self, timesteps: int, ending: str) -> Path:
        return self.path / f"{timesteps}{ending}"

    def _steps(self, ending: str) -> list[int]:
        found = (path.stem for path in self.path.glob(f"*{ending}"))
        return [int(name) for name in found if name.isdecimal()]


def runs_with_pending_clips(runs: Path) -> list[str]:
    """Return the ids of runs with pending clips."""
    found = runs.glob(f"*/clips/*{_PENDING}")
    return sorted({path.parent.parent.name for path in found})
