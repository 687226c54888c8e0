"""Live frames of a run: over a WebSocket with flow control, or only the newest one."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Response, WebSocket, WebSocketDisconnect
from starlette.websockets import WebSocketState

from app.accounts import AccessError, HiddenError
from app.api.shared import ErrorAnswer, TheAccess, TheLab, TheRun, refuse_socket
from app.core import Tasks
from app.runs.state import FrameHub
from storage import RunNotFoundError

_MAX_IN_FLIGHT = 2
MAX_FPS = 30.0
UNKNOWN = 4404
"""Close code for something that doesn't exist, so that clients don't reconnect."""
_FOREIGN = 4403
_NO_LONGER_VISIBLE = "You may no longer see this run."


router = APIRouter(prefix="/runs/{run_id}", tags=["frames"])


@router.get(
    "/frame.jpg",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}, 404: {"model": ErrorAnswer}},
)
async def newest(run: TheRun, lab: TheLab) -> Response:
    """Return the newest frame of a run."""
    frame = (await lab.runs.feed(run)).frames.newest
    if frame is None:
        raise HTTPException(404)
    return Response(frame.jpeg, media_type="image/jpeg", headers={"Cache-Control": "no-store"})


@router.websocket("/frames")
async def frames(
    socket: WebSocket,
    run_id: str,
    lab: TheLab,
    access: TheAccess,
    fps: Annotated[float, Query(gt=0)] = MAX_FPS,
) -> None:
    """Send the newest frames; the client acknowledges each one with `ack`."""
    try:
        feed = await lab.runs.feed(await access.visible(run_id))
    except (RunNotFoundError, AccessError) as error:
        is_hidden = isinstance(error, RunNotFoundError | HiddenError)
        await refuse_socket(socket, UNKNOWN if is_hidden else _FOREIGN, str(error))
        return
    await socket.accept()
    with feed.frames.viewing():
        sender = FrameSender(socket, feed.frames, min(fps, MAX_FPS))
        await sender.run(lambda: access.principal.sees(feed.run))


class FrameSender:
    """Sends the newest frames to one client, no faster than it acknowledges them."""

    def __init__(self, socket: WebSocket, hub: FrameHub, fps: float) -> None:
        self._socket = socket
        self._hub = hub
        self._pause = 1 / fps
        self._credit = asyncio.BoundedSemaphore(_MAX_IN_FLIGHT)

    async def run(self, may_see: Callable[[], bool]) -> None:
        """Send until the client disconnects or `may_see` returns false."""
        tasks = Tasks()
        tasks.start(self._send(may_see), name="send frames")
        try:
            while True:
                await self._socket.receive_text()
                # Surplus acknowledgements give no extra credit.
                with suppress(ValueError):
                    self._credit.release()
        except (WebSocketDisconnect, KeyError):
            # The client is gone, or it sent bytes instead of the text `ack`.
            return
        finally:
            await tasks.cancel()

    async def _send(self, may_see: Callable[[], bool]) -> None:
        sent = 0
        while self._socket.application_state is WebSocketState.CONNECTED:
            await self._credit.acquire()
            frame = await self._hub.after(sent)
            sent = frame.seq
            if not may_see():
                await self._socket.close(_FOREIGN, _NO_LONGER_VISIBLE)
                return
            try:
                await self._socket.send_bytes(frame.packed())
            except (WebSocketDisconnect, RuntimeError):
                return
            await asyncio.sleep(self._pause * 0.9)
