"""Refuse JSON bodies with too many values: validating them would block the event loop."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.early_responses import refuse_early

_LARGEST = 1 << 20
"""No route accepts longer JSON, so it must not be held in memory."""
_HARMLESS = 32 << 10
"""A body of at most this many bytes can't contain enough values to matter."""
_MAX_VALUES = 4_000
_TOO_MANY = f"The body has more than {_MAX_VALUES:,} values. Send fewer."


class JsonBodies:
    """Pure ASGI: reads JSON bodies before their routes and refuses those with too many values."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it because of its body."""
        if scope["type"] != "http" or not _is_json(scope):
            await self._inner(scope, receive, send)
            return
        received = await _read_body(receive)
        body = b"".join(message.get("body", b"") for message in received)
        if _HARMLESS < len(body) <= _LARGEST and has_too_many_values(body):
            await refuse_early(scope, receive, send, (422, "too_many_values", _TOO_MANY))
            return
        await self._inner(scope, _replaying(received, receive), send)


def has_too_many_values(body: bytes) -> bool:
    """Whether a JSON text has more values than any request needs."""
    # Without escapes, every second piece between quotation marks lies outside of strings.
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if plain.count(b'"') > 4 * _MAX_VALUES:
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return sum(map(outside.count, (b",", b"[", b"{"))) > _MAX_VALUES


def _is_json(scope: Scope) -> bool:
    return b"json" in dict(scope["headers"]).get(b"content-type", b"").lower()


async def _read_body(receive: Receive) -> list[Message]:
    """Return the messages of a body, stopping once it is known to be too long."""
    messages, size = [await receive()], 0
    while messages[-1].get("more_body", False) and size <= _LARGEST:
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
    return messages


def _replaying(received: list[Message], receive: Receive) -> Receive:
    waiting = iter(received)

    async def replay() -> Message:
        return next(waiting, None) or await receive()

    return replay
