"""Translate a `RunFilter` into conditions of a query."""

from typing import Any

import msgspec
from peewee import Expression

from storage.database.database import contains_text
from storage.database.sharing_rights import is_visible_to
from storage.database.tables import RunRow, without_nul
from storage.records import RunFilter


def conditions(wanted: RunFilter) -> list[Any]:
    """Return the conditions for runs that match `wanted`."""
    equal = {
        RunRow.status: wanted.status,
        RunRow.env_id: wanted.env_id,
        RunRow.algorithm: wanted.algorithm,
        RunRow.group_id: wanted.group_id,
        RunRow.owner: wanted.owner,
        RunRow.archived: wanted.archived,
    }
    found: list[Any] = [field == value for field, value in equal.items() if value is not None]
    if wanted.tag is not None:
        # Tags are stored as a JSON list; the quotes keep "ppo" from matching "ppo-2".
        found.append(contains_text(RunRow.tags_json, msgspec.json.encode(wanted.tag).decode()))
    if wanted.text:
        found.append(_mentions(without_nul(wanted.text)))
    if wanted.seen_by is not None:
        found.append(is_visible_to(wanted.seen_by))
    return found


def _mentions(text: str) -> Expression:
    expression: Expression = (
        RunRow.name.contains(text)
        | RunRow.env_id.contains(text)
        | RunRow.algorithm.contains(text)
        | RunRow.tags_json.cast("TEXT").contains(text)
        | RunRow.notes.contains(text)
        | RunRow.id.startswith(text)
    )
    return expression
