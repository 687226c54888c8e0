"""Connections that say what they want too slowly, at too great length or in crowds are ended.

uvicorn itself would wait, and keep whatever comes.
"""

import asyncio
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.accounts.addresses import network_of

HEADERS_WITHIN_S = 15.0
LARGEST_HEAD = 64 << 10
"""Bytes of headers, or of what may follow a body; uvicorn has no limit for either."""
MOST_FROM_ONE_ADDRESS = 600
"""Open connections; a class behind one router needs half of them."""
_AROUND_A_HEADER = len(": \r\n")
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class HeadTooLargeError(Exception):
    """An address and its headers are longer than any honest ones; the parser stops at it."""


class ImpatientProtocol(HttpToolsProtocol):
    """Gives every request so long for its headers, from the connection or its first byte on."""

    headers_within_s = HEADERS_WITHIN_S
    most_from_one_address = MOST_FROM_ONE_ADDRESS
    proxy = ""
    """Whose connections are not counted: everybody comes through it."""
    # uvicorn makes one of this class per connection and has no other place for what they share.
    _open: ClassVar[Counter[str]] = Counter()
    _giving_up: asyncio.TimerHandle | None = None
    _without_end = 0
    """Bytes since the last headers or body were whole."""
    _counted_as: str | None = None
    _is_head_too_large = False

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn has it
        """Begin to wait for the first request, unless there are too many from there."""
        super().connection_made(transport)
        self._wait()
        self._count(str((transport.get_extra_info("peername") or ("",))[0]))
        if self._counted_as and self._open[self._counted_as] > self.most_from_one_address:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        self._uncount()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, but not for ever in the same headers."""
        self._without_end += len(data)
        super().data_received(data)
        if self._without_end > LARGEST_HEAD:
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; the guard counts those."""
        self._without_end = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._without_end = 0
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Stop counting: what becomes a WebSocket is counted by person."""
        self._uncount()
        super().handle_websocket_upgrade()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a further request."""
        if self._giving_up is None:
            self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop waiting: what is asked is known; the guard watches over the body."""
        self._stop_waiting()
        self._without_end = 0
        # One that came in a single read was not long without an end.
        if self._head_size() > LARGEST_HEAD:
            self._is_head_too_large = True
            raise HeadTooLargeError
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what can't be read, or is too long to be."""
        if self._is_head_too_large:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _head_size(self) -> int:
        headers = (len(name) + len(value) + _AROUND_A_HEADER for name, value in self.headers)
        return len(self.url) + sum(headers)

    def _wait(self) -> None:
        self._giving_up = self.loop.call_later(self.headers_within_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _count(self, address: str) -> None:
        if address != self.proxy:
            self._counted_as = network_of(address)
            self._open[self._counted_as] += 1

    def _uncount(self) -> None:
        if self._counted_as is not None:
            self._open[self._counted_as] -= 1
            if not self._open[self._counted_as]:
                del self._open[self._counted_as]
            self._counted_as = None


def protocol_behind(proxy: str) -> type[ImpatientProtocol]:
    """Return the protocol of a server whose visitors come through `proxy`; empty: directly."""
    return type("ImpatientProtocol", (ImpatientProtocol,), {"proxy": proxy, "_open": Counter()})
