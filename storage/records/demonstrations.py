"""The facts of demonstrations."""

from datetime import datetime

import msgspec


class Demonstration(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of an episode that a user played."""

    id: str
    env_id: str
    seed: int
    steps: int
    total: float
    """Its return."""
    has_observations: bool
    created_at: datetime
    size: int
