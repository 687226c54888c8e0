"""Placeholders for content that is still loading."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from nicegui import background_tasks, ui

_MAX_WAIT_S = 0.3


class Skeleton:
    """Grey rows in place of the content."""

    def __init__(self, rows: int) -> None:
        with ui.element("div").classes("lab-skeleton").props('role="status"') as self._box:
            ui.label("Loading").classes("lab-unseen")
            for _ in range(rows):
                ui.element("div")

    def remove(self) -> None:
        """Hide the placeholder."""
        self._box.set_visibility(False)


async def load_content(content: Coroutine[Any, Any, None]) -> None:
    """Wait up to 0.3 s for a page's content; after that it loads in the background."""
    task = background_tasks.create(content, name="content of a page", context=ui.context.client)
    await asyncio.wait({task}, timeout=_MAX_WAIT_S)
