"""Base classes of the schemas of answers and requests."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Shape(BaseModel):
    """Base of schemas that the API fills from the attributes of a record.

    The listed fields are the contract: nothing else of a record is read. A field whose attribute
    has another name has a `validation_alias`; a field computed from the ones above it has a
    `default_factory`, and is in every answer like all others.
    """

    model_config = ConfigDict(
        from_attributes=True,
        validate_by_alias=True,
        validate_by_name=True,
        json_schema_serialization_defaults_required=True,
    )

    @classmethod
    def of(cls, record: object, **more: object) -> Self:
        """Describe a record; `more` are fields that it doesn't have."""
        return cls.model_validate(_Extended(record, more) if more else record)


class RequestShape(BaseModel):
    """Base of request schemas: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class _Extended:
    """A record with additional attributes, which take precedence."""

    def __init__(self, record: object, more: dict[str, object]) -> None:
        self._record = record
        self._more = more

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an attribute of any record
        return self._more[name] if name in self._more else getattr(self._record, name)
