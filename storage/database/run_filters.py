"""Which runs are meant, as conditions of a query."""

from typing import Any

import msgspec
from peewee import Expression

from storage.database.database import holds
from storage.database.tables.runs import RunRow, without_nul
from storage.records.runs import RunFilter, Visibility


def conditions(wanted: RunFilter) -> list[Any]:
    """Return what must hold for a run that `wanted` describes."""
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
        found.append(holds(RunRow.tags_json, msgspec.json.encode(wanted.tag).decode()))
    if wanted.text:
        found.append(_says(without_nul(wanted.text)))
    if wanted.seen_by is not None:
        found.append(_may_be_seen_by(wanted.seen_by))
    return found


def _says(text: str) -> Expression:
    expression: Expression = (
        RunRow.name.contains(text)
        | RunRow.env_id.contains(text)
        | RunRow.algorithm.contains(text)
        | RunRow.tags_json.cast("TEXT").contains(text)
        | RunRow.notes.contains(text)
        | RunRow.id.startswith(text)
    )
    return expression


def _may_be_seen_by(person_id: str) -> Expression:
    expression: Expression = (
        (RunRow.owner == person_id)
        | (RunRow.visibility == Visibility.EVERYONE)
        | holds(RunRow.shared_json, f'"{person_id}"')
    )
    return expression
