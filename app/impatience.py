"""Connections that take too long to say what they want are ended: uvicorn itself would wait."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_WITHIN_S = 15.0


class ImpatientProtocol(HttpToolsProtocol):
    """Gives every request so long for its headers, from the connection or its first byte on."""

    headers_within_s = HEADERS_WITHIN_S
    _giving_up: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:  # noqa: ANN401 - as uvicorn has it
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a further request."""
        if self._giving_up is None:
            self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Stop waiting: what is asked is known; the guard watches over the body."""
        self._stop_waiting()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._giving_up = self.loop.call_later(self.headers_within_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
