"""What a page shows while its content is on the way."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from nicegui import background_tasks, ui

_PATIENCE_S = 0.3


class Skeleton:
    """Grey rows where content will be."""

    def __init__(self, rows: int) -> None:
        with ui.element("div").classes("lab-skeleton").props('role="status"') as self._box:
            ui.label("Loading").classes("lab-unseen")
            for _ in range(rows):
                ui.element("div")

    def remove(self) -> None:
        """Make room for the content."""
        self._box.set_visibility(False)


async def patiently(content: Coroutine[Any, Any, None]) -> None:
    """Wait for a page's content, but not so long that a person wonders; then it follows alone."""
    task = background_tasks.create(content, name="content of a page", context=ui.context.client)
    await asyncio.wait({task}, timeout=_PATIENCE_S)
