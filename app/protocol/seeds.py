"""The seeds of evaluations: three disjoint families, which drawn training seeds avoid.

A policy is selected by periodic evaluations; seeds on which it was selected overstate how good it
is. So selection, tests and final evaluations each have a family of seeds of their own.
"""

from enum import StrEnum
from hashlib import blake2b

FAMILY_SIZE = 1_000_000


class SeedFamily(StrEnum):
    """What the episodes with some seeds are for."""

    SELECTION = "selection"
    """Periodic evaluations: they select the best policy and propose that the task is solved."""
    TEST = "test"
    """Evaluations on demand, and the confirmation that the task is solved."""
    FINAL = "final"
    """The evaluation of the final policy: the same seeds for every run, so that runs compare."""

    @property
    def first_seed(self) -> int:
        """The first seed of the family."""
        return FAMILY_SIZE * (list(SeedFamily).index(self) + 1)

    @classmethod
    def of(cls, seed: int) -> "SeedFamily | None":
        """Return the family to which a seed belongs, if any."""
        number = seed // FAMILY_SIZE - 1
        return list(cls)[number] if 0 <= number < len(cls) else None


EVALUATION_SEEDS = range(SeedFamily.SELECTION.first_seed, SeedFamily.FINAL.first_seed + FAMILY_SIZE)
"""The seeds of all families."""

_CONFIRMATION = SeedFamily.TEST.first_seed + FAMILY_SIZE // 2
"""The seeds from here on are for confirmations: tests on demand begin at the family's first."""


def selection_seed(timesteps: int, episodes: int, *, is_repeated: bool = False) -> int:
    """Return the first of the seeds on which the policy of this step is evaluated periodically.

    Each step has seeds of its own, and a resumed run uses the same ones again. It `is_repeated` if
    the step has two policies: before and after the last update of a run.
    """
    name = f"{timesteps} again" if is_repeated else str(timesteps)
    return SeedFamily.SELECTION.first_seed + _draw(name, FAMILY_SIZE - episodes)


def confirmation_seed(timesteps: int, episodes: int) -> int:
    """Return the first of the seeds on which it is confirmed that this step's policy is good."""
    return _CONFIRMATION + _draw(str(timesteps), FAMILY_SIZE // 2 - episodes)


def _draw(name: str, below: int) -> int:
    # Not with NumPy: workers import this module before they lock themselves down.
    digest = blake2b(name.encode(), digest_size=8).digest()
    return int.from_bytes(digest) % below
