"""HEAD: what GET would answer, without the body."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.tasks import Tasks

_STREAM = b"text/event-stream"


class HeadRequests:
    """Pure ASGI: answers HEAD by asking for GET; the server itself leaves the body out."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, as GET if it is HEAD."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._inner(scope, receive, send)
            return
        stream_began = asyncio.Event()

        async def watched(message: Message) -> None:
            await send(message)
            if _begins_stream(message):
                await send({"type": "http.response.body", "body": b""})
                stream_began.set()

        async def answer() -> None:
            await self._inner({**scope, "method": "GET"}, receive, watched)

        tasks = Tasks()
        answering = tasks.start(answer(), name="answer HEAD")
        streaming = tasks.start(stream_began.wait(), name="wait for a stream")
        try:
            # A stream never ends by itself; all else does.
            await asyncio.wait({answering, streaming}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.cancel()


def _begins_stream(message: Message) -> bool:
    if message["type"] != "http.response.start":
        return False
    return bool(dict(message["headers"]).get(b"content-type", b"").startswith(_STREAM))
