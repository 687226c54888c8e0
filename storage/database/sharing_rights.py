"""Who may see and change a resource: the rule in Python, and the same rule as an SQL condition.

Both are in one module, although only one of them is SQL, so that they are changed together.
"""

from dataclasses import dataclass
from typing import Protocol

from peewee import Expression

from storage.database.database import contains_text
from storage.database.tables import RunRow
from storage.records import UserRecord, Visibility


class Shareable(Protocol):
    """A resource that a user owns and can share: a run or a custom environment."""

    @property
    def owner(self) -> str | None:
        """The id of its owner; None: it was created without accounts."""

    @property
    def visibility(self) -> Visibility:
        """Whether everyone may see it."""

    @property
    def shared_with(self) -> tuple[str, ...]:
        """The ids of users who may see it."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a user to a resource."""

    see: bool = False
    change: bool = False


def rights(user: UserRecord | None, resource: Shareable) -> Rights:
    """Return the rights of a user to a resource; without accounts (None) these are all rights."""
    if user is None or user.is_admin or resource.owner == user.id:
        return Rights(see=True, change=True)
    is_shared = user.id in resource.shared_with
    return Rights(see=resource.visibility is Visibility.EVERYONE or is_shared)


def is_visible_to(user_id: str) -> Expression:
    """Return the condition that a run is visible to a user who is not an administrator."""
    expression: Expression = (
        (RunRow.owner == user_id)
        | (RunRow.visibility == Visibility.EVERYONE)
        | contains_text(RunRow.shared_json, f'"{user_id}"')
    )
    return expression
