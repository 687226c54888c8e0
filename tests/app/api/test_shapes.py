"""Answers of the API contain the fields of their shapes, whatever else a record has."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pydantic import AliasPath, Field, ValidationError

from app.api.accounts.users import FreshToken, Me, User
from app.api.shared.shapes import Shape


@dataclass(frozen=True)
class Record:
    id: str
    password_hash: str
    progress: "Record | None" = None
    owner: str = "an id"


class Described(Shape):
    id: str
    within: str = Field(validation_alias=AliasPath("progress", "id"))
    owner: str
    url: str = Field(default_factory=lambda known: f"/things/{known['id']}")


def test_only_declared_fields_are_read_and_given_values_take_precedence() -> None:
    record = Record("one", "hash", Record("two", "hash"))

    assert Described.of(record, owner="a@example.org").model_dump() == {
        "id": "one",
        "within": "two",
        "owner": "a@example.org",
        "url": "/things/one",
    }


def test_a_record_without_a_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="Field required"):
        Described.of(Record("one", "hash"), owner="a@example.org")


def test_fields_of_every_answer_are_required_in_the_schema() -> None:
    schema = Described.model_json_schema(mode="serialization")

    assert schema["required"] == ["id", "within", "owner", "url"]


def shapes(base: type[Shape] = Shape) -> Iterator[type[Shape]]:
    for shape in base.__subclasses__():
        yield shape
        yield from shapes(shape)


def test_no_shape_reads_a_secret() -> None:
    all_shapes = list(shapes())
    read = {
        (shape, str(name))
        for shape in all_shapes
        for field, info in shape.model_fields.items()
        for name in (field, info.validation_alias)
    }

    assert len(all_shapes) > 25
    assert not {Me, User} & set(all_shapes)
    secrets = {"password_hash", "hf_token", "token", "digest", "secret"}
    assert {(shape, name) for shape, name in read if name in secrets} == {(FreshToken, "token")}
