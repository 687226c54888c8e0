"""File answers with support for `Range`."""

import asyncio
import re
from pathlib import Path
from typing import Any

from fastapi.responses import FileResponse
from starlette.types import Receive, Scope, Send

from app.api.shared.errors import ErrorAnswer, error_answer

_ONE_RANGE = re.compile(rb"bytes=(?:([0-9]{1,15})-([0-9]{0,15})|-([0-9]{1,15}))")

RANGE_ANSWERS: dict[int | str, dict[str, Any]] = {
    206: {"description": "The part named by `Range`"},
    416: {"model": ErrorAnswer, "description": "The file has no such part"},
}
VIDEO_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"video/mp4": {}}, "description": "The complete file"},
    206: {"content": {"video/mp4": {}}, "description": "The part named by `Range`"},
    410: {"model": ErrorAnswer, "description": "Removed in favor of newer videos"},
    416: RANGE_ANSWERS[416],
}


class RangedFile(FileResponse):
    """A file, or the single part named by `Range`.

    A header that names several parts, or is malformed, is ignored, as HTTP allows.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file or the requested part."""
        requested = dict(scope["headers"]).get(b"range", b"")
        if (parts := _ONE_RANGE.fullmatch(requested)) is None or _is_backwards(parts):
            headers = [header for header in scope["headers"] if header[0] != b"range"]
            await super().__call__({**scope, "headers": headers}, receive, send)
            return
        first, _, last_bytes = parts.groups()
        size = (await asyncio.to_thread(Path(self.path).stat)).st_size
        if (first is not None and int(first) >= size) or (last_bytes and not int(last_bytes)):
            answer = error_answer(416, "range_not_satisfiable", f"The file has {size:,} bytes.")
            answer.headers["Content-Range"] = f"bytes */{size}"
            await answer(scope, receive, send)
            return
        await super().__call__(scope, receive, send)


def _is_backwards(parts: re.Match[bytes]) -> bool:
    first, last, _ = parts.groups()
    return bool(first and last) and int(last) < int(first)
