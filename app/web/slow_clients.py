"""Close connections that are too many, or whose requests are too slow or too long.

uvicorn itself has no such limits.
"""

import asyncio
from collections import Counter
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.accounts import network_of

HEADERS_WITHIN_S = 15.0
LARGEST_HEAD = 64 << 10
"""Bytes of headers, or of trailers after a body; uvicorn limits neither."""
MAX_PER_NETWORK = 600
"""Open connections; a class behind one router needs half of them."""
_AROUND_A_HEADER = len(": \r\n")
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class HeadTooLargeError(Exception):
    """URL and headers are too long; raised in a callback to stop the parser."""


class LimitedProtocol(HttpToolsProtocol):
    """An HTTP protocol with limits on the time and size of headers and on connections.

    The time for headers counts from the connection, or from a later request's first byte.
    """

    headers_within_s = HEADERS_WITHIN_S
    max_per_network = MAX_PER_NETWORK
    proxy = ""
    """Address of the proxy; its connections are not counted, as all users share them."""
    # On the class: uvicorn creates an instance per connection, without a place for shared state.
    _open: ClassVar[Counter[str]] = Counter()
    _headers_timeout: asyncio.TimerHandle | None = None
    _unparsed = 0
    """Bytes since headers or a part of a body were last parsed."""
    _counted_as: str | None = None
    _is_head_too_large = False

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn has it
        """Wait for the first request, or abort if its network has too many connections."""
        super().connection_made(transport)
        self._start_timeout()
        self._count(str((transport.get_extra_info("peername") or ("",))[0]))
        if self._counted_as and self._open[self._counted_as] > self.max_per_network:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the timer and the count of this connection."""
        self._cancel_timeout()
        self._uncount()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data, but abort if headers or trailers exceed their limit."""
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > LARGEST_HEAD:
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        """Accept a part of a body; `RequestFilter` limits its size."""
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Reset the byte count at the end of a request."""
        self._unparsed = 0
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Stop counting the connection: WebSockets are counted by user."""
        self._uncount()
        super().handle_websocket_upgrade()

    def on_message_begin(self) -> None:
        """Start the timer for the headers of a further request."""
        if self._headers_timeout is None:
            self._start_timeout()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop the timer and check the size of the headers; `RequestFilter` limits the body."""
        self._cancel_timeout()
        self._unparsed = 0
        # The byte count alone misses headers that arrive in a single read: it was just reset.
        if self._head_size() > LARGEST_HEAD:
            self._is_head_too_large = True
            raise HeadTooLargeError
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse a malformed request, or one with too large headers."""
        if self._is_head_too_large:
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        else:
            super().send_400_response(msg)

    def _head_size(self) -> int:
        headers = (len(name) + len(value) + _AROUND_A_HEADER for name, value in self.headers)
        return len(self.url) + sum(headers)

    def _start_timeout(self) -> None:
        close = self.transport.close
        self._headers_timeout = self.loop.call_later(self.headers_within_s, close)

    def _cancel_timeout(self) -> None:
        if self._headers_timeout is not None:
            self._headers_timeout.cancel()
            self._headers_timeout = None

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


def protocol_behind(proxy: str) -> type[LimitedProtocol]:
    """Return the protocol class of a server behind the proxy at `proxy`; empty: no proxy."""
    return type("LimitedProtocol", (LimitedProtocol,), {"proxy": proxy, "_open": Counter()})
