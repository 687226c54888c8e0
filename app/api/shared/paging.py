"""Parts of lists that come whole from memory: `limit` and `cursor` as every list takes them."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from app.api.shared.schemas import Listing
from storage.errors import BadCursorError

T = TypeVar("T")


class ShortListQuery(BaseModel):
    """Which part of a list is asked for; short ones come whole unless told otherwise."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(default=500, ge=1, le=500)
    cursor: str | None = Field(default=None, max_length=40)


TheShortPage = Annotated[ShortListQuery, Query()]


def part_of(items: Sequence[T], page: ShortListQuery) -> Listing[T]:
    """Return the part of a list that is asked for; a cursor is the place where it goes on.

    Raises:
        BadCursorError: if the list has no such place.
    """
    begin = 0
    if page.cursor is not None:
        if not (page.cursor.isascii() and page.cursor.isdecimal()):
            raise BadCursorError
        begin = int(page.cursor)
        if not 0 < begin < len(items):
            raise BadCursorError
    end = begin + page.limit
    return Listing(items=list(items[begin:end]), next=str(end) if end < len(items) else None)
