"""Peewee tables; nothing outside storage/ imports this module."""

from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from peewee import (
    AutoField,
    BooleanField,
    CharField,
    DateTimeField,
    FloatField,
    ForeignKeyField,
    IntegerField,
    Model,
    TextField,
)

from storage.records import EventLevel, RunSetKind, RunSetState, RunStatus, SolvedBy, Visibility

T = TypeVar("T")


class UtcField(DateTimeField):
    """A time in UTC: naive in the column, aware everywhere else."""

    def db_value(self, value: datetime | None) -> datetime | None:
        """Drop the time zone, which is always UTC, so that rows sort as text."""
        return value.astimezone(UTC).replace(tzinfo=None) if value else None

    def python_value(self, value: object) -> datetime | None:
        """Restore the time zone."""
        naive = super().python_value(value)  # type: ignore[no-untyped-call]  # peewee has no types here
        return naive.replace(tzinfo=UTC) if naive else None


class JsonField(TextField):
    """A JSON value in a text column."""

    def db_value(self, value: object) -> str | None:
        """Encode `value`."""
        return None if value is None else msgspec.json.encode(value).decode()

    def python_value(self, value: str | None) -> Any:  # noqa: ANN401 - any JSON value
        """Decode what `db_value` wrote."""
        return None if value is None else msgspec.json.decode(value)


class LineField(CharField):
    """A short text; PostgreSQL has no character 0, so it is replaced everywhere."""

    def db_value(self, value: object) -> str | None:
        """Replace what can't be stored."""
        return None if value is None else without_nul(str(value))


class ProseField(TextField):
    """A text of any length; PostgreSQL has no character 0, so it is replaced everywhere."""

    def db_value(self, value: object) -> str | None:
        """Replace what can't be stored."""
        return None if value is None else without_nul(str(value))


class EnumField(LineField):
    """One of the values of an enumeration."""

    def __init__(self, kind: type[StrEnum], **options: Any) -> None:
        super().__init__(**options)
        self._kind = kind

    def python_value(self, value: str | None) -> StrEnum | None:
        """Return the member that `db_value` wrote."""
        return None if value is None else self._kind(value)


def record_of(kind: type[T], row: Model, **others: Any) -> T:
    """Return a record of a row; its fields, except `others`, have the names of columns."""
    # mypy: a dataclass has no common type.
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: getattr(row, name) for name in names if name not in others}, **others)


def without_nul(text: str) -> str:
    """Replace NUL characters, which PostgreSQL can't store."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


class SchemaRow(Model):
    """The single row with the version of the schema."""

    version = IntegerField()

    class Meta:
        """Options of the table."""

        table_name = "schema_version"


class RunRow(Model):
    """A row of the runs table."""

    id = LineField(primary_key=True)
    name = LineField()
    env_id = LineField(index=True)
    algorithm = LineField(index=True)
    status = EnumField(RunStatus, default=RunStatus.CREATED, index=True)
    config_json = JsonField()
    created_at = UtcField(index=True)
    updated_at = UtcField()
    queued_at = UtcField(null=True, index=True)
    started_at = UtcField(null=True)
    finished_at = UtcField(null=True)
    deleted_at = UtcField(null=True)
    owner = LineField(null=True, index=True)
    visibility = EnumField(Visibility, default=Visibility.PRIVATE)
    # Ids of users; a JSON column because it is read with every run and rarely written.
    shared_json = JsonField(default=list)
    group_id = LineField(null=True, index=True)
    parent = LineField(null=True)
    tags_json = JsonField(default=list)
    notes = ProseField(default="")
    archived = BooleanField(default=False)
    error = ProseField(null=True)
    timesteps = IntegerField(default=0)
    vec_steps = IntegerField(default=0)
    updates = IntegerField(default=0)
    episodes = IntegerField(default=0)
    elapsed_s = FloatField(default=0.0)
    best = FloatField(null=True)
    solved_at = IntegerField(null=True)
    solved_by = EnumField(SolvedBy, null=True)
    best_evaluation = FloatField(null=True)
    last_evaluation = FloatField(null=True)
    final_evaluation = FloatField(null=True)
    final_evaluation_at = IntegerField(null=True)
    # A copy of `RunRecord.score`, so that runs can be sorted by it.
    score = FloatField(null=True)
    latest_json = JsonField(null=True)
    sketch_json = JsonField(null=True)

    class Meta:
        """Options of the table."""

        table_name = "runs"


class RunSetRow(Model):
    """A row of the sets of runs; runs reference theirs by `group_id`."""

    id = LineField(primary_key=True)
    kind = EnumField(RunSetKind)
    name = LineField()
    spec = JsonField()
    created_at = UtcField()
    state = EnumField(RunSetState, default=RunSetState.OPEN)
    owner = LineField(null=True)
    parent = LineField(null=True, index=True)

    class Meta:
        """Options of the table."""

        table_name = "run_sets"


class EventRow(Model):
    """A row of the event log."""

    id = AutoField()
    run = ForeignKeyField(RunRow, column_name="run_id", on_delete="CASCADE")
    timestamp = UtcField()
    event_type = LineField()
    level = EnumField(EventLevel, default=EventLevel.INFO)
    message = ProseField()
    data = JsonField(default=dict)

    class Meta:
        """Index events by run, so that the newest are found fast."""

        table_name = "events"
        indexes = ((("run", "id"), False),)


TABLES: list[type[Model]] = [RunRow, RunSetRow, EventRow]
