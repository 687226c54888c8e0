"""Answers sent before a request reaches its route: errors in the format of the API."""

import json
from collections.abc import Sequence

from starlette.types import Receive, Scope, Send

Header = tuple[bytes, bytes]

_DENIAL = "websocket.http.response"
_POLICY_VIOLATION = 1008
_LONGEST_REASON = 123
"""Maximum bytes of the reason in a WebSocket close frame (RFC 6455)."""


async def refuse_early(
    scope: Scope,
    receive: Receive,
    send: Send,
    error: tuple[int, str, str],
    headers: Sequence[Header] = (),
    *,
    field: str | None = None,
) -> None:
    """Answer an HTTP request or WebSocket handshake with `error` (status, code, sentence)."""
    status, code, sentence = error
    body = json.dumps({"error": {"code": code, "message": sentence, "field": field}}).encode()
    headers = [(b"content-type", b"application/json"), *headers]
    if scope["type"] == "http":
        await send_answer(send, status, body, headers)
        return
    await receive()
    if _DENIAL in scope.get("extensions", {}):
        await send_answer(send, status, body, headers, kind=_DENIAL)
    else:
        reason = close_reason(sentence)
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})


async def send_answer(
    send: Send,
    status: int,
    body: bytes,
    headers: Sequence[Header],
    *,
    kind: str = "http.response",
) -> None:
    """Send a complete answer."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": f"{kind}.start", "status": status, "headers": [*headers, length]})
    await send({"type": f"{kind}.body", "body": body})


def close_reason(sentence: str) -> str:
    """Truncate a sentence to what fits into a WebSocket close frame."""
    return sentence.encode()[:_LONGEST_REASON].decode(errors="ignore")
