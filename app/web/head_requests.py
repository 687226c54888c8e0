"""Answer HEAD as GET without the body."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core import Tasks


class HeadRequests:
    """Pure ASGI: serves HEAD as GET; the server itself omits the body."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; HEAD as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._inner(scope, receive, send)
            return
        head_sent = asyncio.Event()

        async def send_head(message: Message) -> None:
            await send(message)
            if _has_open_end(message):
                await send({"type": "http.response.body", "body": b""})
                head_sent.set()

        async def answer() -> None:
            await self._inner({**scope, "method": "GET"}, receive, send_head)

        tasks = Tasks()
        answering = tasks.start(answer(), name="answer HEAD")
        waiting = tasks.start(head_sent.wait(), name="wait for the head of a stream")
        try:
            await asyncio.wait({answering, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.cancel()


def _has_open_end(message: Message) -> bool:
    """Whether the message starts an answer of unknown, possibly endless length."""
    if message["type"] != "http.response.start":
        return False
    return b"content-length" not in dict(message["headers"])
