"""Live pictures of a run: a WebSocket with credit, and the newest one by itself."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Response, WebSocket, WebSocketDisconnect
from starlette.websockets import WebSocketState

from app.accounts.errors import AccessError, HiddenError
from app.api.shared.dependencies import TheTrainer
from app.api.shared.errors import ErrorAnswer, refuse_socket
from app.core.tasks import Tasks
from app.runs.state.frames import FrameHub
from storage.errors import RunNotFoundError

_ON_THEIR_WAY = 2
MOST_FPS = 30.0
UNKNOWN = 4404
"""Closes the socket of something that isn't there: there is no use in trying again."""
_FOREIGN = 4403
_NOT_ANY_MORE = "You may not see this run any more."


router = APIRouter(prefix="/runs/{run_id}", tags=["frames"])


@router.get(
    "/frame.jpg",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}, 404: {"model": ErrorAnswer}},
)
async def newest(run_id: str, trainer: TheTrainer) -> Response:
    """Return the newest picture of a run."""
    frame = (await trainer.feed(run_id)).frames.newest
    if frame is None:
        raise HTTPException(404)
    return Response(frame.jpeg, media_type="image/jpeg", headers={"Cache-Control": "no-store"})


@router.websocket("/frames")
async def frames(
    socket: WebSocket,
    run_id: str,
    trainer: TheTrainer,
    fps: Annotated[float, Query(gt=0)] = MOST_FPS,
) -> None:
    """Send the newest pictures, each after the one before was thanked for with `ack`."""
    try:
        feed = await trainer.feed(run_id)
    except (RunNotFoundError, AccessError) as error:
        is_hidden = isinstance(error, RunNotFoundError | HiddenError)
        await refuse_socket(socket, UNKNOWN if is_hidden else _FOREIGN, str(error))
        return
    await socket.accept()
    with feed.frames.looking():
        sender = FrameSender(socket, feed.frames, min(fps, MOST_FPS))
        await sender.run(lambda: trainer.visitor.sees(feed.run))


class FrameSender:
    """Sends one viewer the newest pictures, as fast as it takes them and no faster."""

    def __init__(self, socket: WebSocket, hub: FrameHub, fps: float) -> None:
        self._socket = socket
        self._hub = hub
        self._pause = 1 / fps
        self._credit = asyncio.BoundedSemaphore(_ON_THEIR_WAY)

    async def run(self, may_look: Callable[[], bool]) -> None:
        """Send until the viewer leaves, or may not look any more."""
        tasks = Tasks()
        tasks.start(self._send(may_look), name="send frames")
        try:
            while True:
                await self._socket.receive_text()
                # More thanks than pictures: whoever sends that gets no more for it.
                with suppress(ValueError):
                    self._credit.release()
        except (WebSocketDisconnect, KeyError):
            # Gone, or it sent bytes where only `ack` is agreed.
            return
        finally:
            await tasks.cancel()

    async def _send(self, may_look: Callable[[], bool]) -> None:
        shown = 0
        while self._socket.application_state is WebSocketState.CONNECTED:
            await self._credit.acquire()
            frame = await self._hub.after(shown)
            shown = frame.seq
            if not may_look():
                await self._socket.close(_FOREIGN, _NOT_ANY_MORE)
                return
            try:
                await self._socket.send_bytes(frame.packed())
            except (WebSocketDisconnect, RuntimeError):
                return
            await asyncio.sleep(self._pause * 0.9)
