"""Show the frames of a running evaluation in the live view instead of those of the training."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.core import Tasks
from app.runs.state import FrameHub
from app.workers import EpisodePlayer

_POLL_INTERVAL_S = 0.2


@asynccontextmanager
async def show_live(frames: FrameHub, player: EpisodePlayer) -> AsyncIterator[None]:
    """Replace the training's frames by the player's, which renders only while there are viewers."""
    tasks = Tasks()
    tasks.start(_render_while_watched(frames, player), name="show an evaluation")
    try:
        with frames.showing_evaluation():
            yield
    finally:
        await tasks.cancel()


async def _render_while_watched(frames: FrameHub, player: EpisodePlayer) -> None:
    is_watched = False
    while True:
        if is_watched != bool(frames.viewers):
            is_watched = not is_watched
            player.watch(on=is_watched)
        await asyncio.sleep(_POLL_INTERVAL_S)
