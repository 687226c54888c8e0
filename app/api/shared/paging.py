"""Paging of lists that are complete in memory, with `limit` and `cursor` like all lists."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import Query
from pydantic import Field

from app.api.shared.schemas import Listing
from app.api.shared.shapes import RequestShape
from storage import BadCursorError

T = TypeVar("T")


class ShortListQuery(RequestShape):
    """The requested part of a short list; by default all of it."""

    limit: int = Field(default=500, ge=1, le=500)
    cursor: str | None = Field(default=None, max_length=40)


TheShortPage = Annotated[ShortListQuery, Query()]


def part_of(items: Sequence[T], page: ShortListQuery) -> Listing[T]:
    """Return the requested part of a list; the cursor is the index where it starts.

    Raises:
        BadCursorError: if the list has no such index.
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
