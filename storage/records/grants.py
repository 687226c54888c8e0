"""Types that prove that a principal may see or change a run; only `app/access` creates them.

Roles, shares and sessions change at any time, so a proof is for one use and is never stored: not
on an object, in a dataclass, in a module or for a later event.
"""

from dataclasses import dataclass
from typing import NewType

from storage.records.runs import RunFilter, RunRecord

VisibleRun = NewType("VisibleRun", RunRecord)
"""A run that the principal may see, as it was at the time of the check."""

ChangeableRun = NewType("ChangeableRun", VisibleRun)
"""A run that the principal may change."""

SeenFilter = NewType("SeenFilter", RunFilter)
"""A filter that matches only runs that the principal may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Permission to create a run: its owner and the disk space it may use."""

    owner: str | None
    max_bytes: int | None = None
    """None: there is no limit."""
