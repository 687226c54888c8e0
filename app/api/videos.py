"""What all answers with a video have in common."""

import re
from typing import Annotated, Any

from fastapi import Header, HTTPException

from app.api.errors import ErrorAnswer

_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})", re.ASCII)

TheRange = Annotated[str | None, Header(alias="Range")]

VIDEO_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"video/mp4": {}}, "description": "The whole file"},
    206: {"content": {"video/mp4": {}}, "description": "The part that `Range` names"},
    410: {"model": ErrorAnswer, "description": "Newer videos took its place"},
    416: {"model": ErrorAnswer, "description": "The file has no such part"},
}


def check_range(asked: str | None, size: int) -> None:
    """Refuse what the file server would refuse in another shape than everybody else."""
    if asked is None:
        return
    if (parts := _RANGE.fullmatch(asked)) is None:
        raise HTTPException(400, "Range must look like bytes=0-1023")
    first, last = (int(part) if part else None for part in parts.groups())
    is_beyond = first is not None and (first >= size or (last is not None and last < first))
    if is_beyond or (first is None and not last):
        headers = {"Content-Range": f"bytes */{size}"}
        raise HTTPException(416, f"The video has {size:,} bytes", headers=headers)
