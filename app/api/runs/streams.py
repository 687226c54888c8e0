"""Streams of a run as server-sent events: metrics, status, event log."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from app.access import Access
from app.api.shared import (
    MAX_COUNTER,
    Describe,
    LogEvent,
    TheAccess,
    TheLab,
    TheRun,
    ToDescribe,
    refusals,
)
from app.runs import RunService
from app.runs.state import RunFeed
from storage.metrics import metrics
from storage.records import RunStatus

_FIRST_LINES = 100
_BETWEEN_MESSAGES_S = 0.25
KEEP_ALIVE_S = 15.0
"""Proxies close streams that are silent for much longer."""
_LINES_PER_MESSAGE = 1_000
_PIECE_BYTES = 16 << 10
_KEEP_ALIVE = b": still here\n\n"

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


router = APIRouter(prefix="/runs/{run_id}", tags=["streams"], responses=refusals(404))


@router.get("/stream", response_class=StreamingResponse)
async def stream(
    run: TheRun,
    lab: TheLab,
    access: TheAccess,
    describe: ToDescribe,
    after: Annotated[int | None, Query(ge=0, le=MAX_COUNTER)] = None,
    all_: Annotated[bool, Query(alias="all")] = False,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Stream a run's metrics and status until it has ended."""
    listener = Listener(lab.runs, access, describe, await lab.runs.feed(run))
    begin = _position(after, last_event_id)
    path = lab.runs.folder(run).metrics
    return _answer(MetricsStream(listener, path, begin=begin, all_lines=all_).messages())


@router.get("/events/stream", response_class=StreamingResponse)
async def stream_events(
    run: TheRun,
    lab: TheLab,
    access: TheAccess,
    describe: ToDescribe,
    after: Annotated[int | None, Query(ge=0, le=MAX_COUNTER)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Stream a run's event log until the run has ended."""
    listener = Listener(lab.runs, access, describe, await lab.runs.feed(run))
    begin = _position(after, last_event_id) or 0
    keep_alive = _KeepAlive(listener.feed)
    return _answer(keep_alive.reset_by(_event_messages(listener, begin, keep_alive)))


@dataclass(frozen=True, slots=True)
class Listener:
    """A client of a run's stream, with the services that its messages need."""

    runs: RunService
    access: Access
    describe: Describe
    feed: RunFeed

    @property
    def may_continue(self) -> bool:
        """Whether the principal may still see the run, and it is not deleted."""
        return self.access.principal.sees(self.feed.run) and not self.feed.is_deleted


class _KeepAlive:
    """Timer for the next keep-alive message, which is due if nothing was sent for a while."""

    def __init__(self, feed: RunFeed) -> None:
        self._feed = feed
        self._due_at = time.monotonic() + KEEP_ALIVE_S

    async def reset_by(self, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the messages, and restart the timer after each."""
        async for message in messages:
            yield message
            self._due_at = time.monotonic() + KEEP_ALIVE_S

    async def is_due_after(self, seen: int) -> bool:
        """Wait until the feed is newer than version `seen` or the timer ends; return if it has."""
        await self._feed.wait(seen, max(0.0, self._due_at - time.monotonic()))
        return time.monotonic() >= self._due_at


class MetricsStream:
    """The stream of a run's metrics and status to one listener."""

    def __init__(
        self, listener: Listener, path: Path, *, begin: int | None, all_lines: bool
    ) -> None:
        self._listener = listener
        self._path = path
        self._feed = feed = listener.feed
        self._all_lines = all_lines
        self._begin = begin
        self._truncations = feed.truncations
        self._reader: metrics.LineReader | None = None
        self._keep_alive = _KeepAlive(feed)
        self._position: int = max(0, feed.line_count - _FIRST_LINES) if begin is None else begin

    def messages(self) -> AsyncIterator[bytes]:
        """Yield the messages for the listener until the run has ended."""
        return self._keep_alive.reset_by(self._messages())

    async def _messages(self) -> AsyncIterator[bytes]:
        self._sent = min(self._position, self._feed.line_count)
        if self._position > self._feed.line_count:
            yield self._truncate(self._feed.line_count)
        status = self._feed.run.status
        yield _message("status", {"status": status, "error": self._feed.run.error})
        while self._listener.may_continue:
            # The status is read before the lines: no line can follow the final status.
            seen, now = self._feed.version, self._feed.run
            if self._truncations != self._feed.truncations:
                kept = self._feed.last_valid_line(self._truncations)
                yield self._truncate(min(self._position, kept))
            async for message in self._new_lines(now.status):
                yield message
            if now.status is not status:
                status = now.status
                yield _message("status", {"status": status, "error": now.error})
            if now.status.is_over and self._position >= self._feed.line_count:
                yield _message("end", await self._listener.describe(now))
                return
            if await self._keep_alive.is_due_after(seen):
                yield _KEEP_ALIVE

    def _truncate(self, kept: int) -> bytes:
        """Reset the position to the first `kept` lines, and return the message about it."""
        self._truncations = self._feed.truncations
        self._position = self._sent = kept
        self._reader = None
        return _message("truncated", {"n": kept})

    async def _new_lines(self, status: RunStatus) -> AsyncIterator[bytes]:
        """Yield lines until all are sent, or another message has to come first."""
        while self._listener.may_continue and (message := await self._next_message()):
            yield message
            await asyncio.sleep(_BETWEEN_MESSAGES_S)
            is_cut = self._truncations != self._feed.truncations
            if is_cut or self._feed.run.status is not status:
                return

    async def _next_message(self) -> bytes | None:
        """Return one message of lines; a listener who doesn't read holds no more in memory."""
        lines = self._feed.lines_after(self._position)
        if lines is None and self._all_lines:
            return await self._lines_from_file()
        self._reader = None
        # Lines may be skipped: only the newest is sent, and that one is in memory.
        lines = list(self._feed.lines) if lines is None else lines
        if not lines:
            return None
        if self._all_lines:
            lines = lines[:_LINES_PER_MESSAGE]
        self._position = lines[-1]["n"]
        skipped = self._position - self._sent - 1
        self._sent = self._position
        if self._all_lines:
            return _message("metrics", {"items": lines}, number=self._position)
        newest = {**lines[-1], "skipped": skipped} if skipped > 0 else lines[-1]
        return _message("metrics", newest, number=self._position)

    async def _lines_from_file(self) -> bytes | None:
        """Return a message of lines that are no longer in memory."""
        if self._reader is None:
            self._reader = metrics.LineReader(self._path, after=self._position)
        lines = await self._listener.runs.read_on(self._reader, _LINES_PER_MESSAGE)
        self._position = self._sent = self._reader.number
        return _message("metrics", {"items": lines}, number=self._position) if lines else None


async def _event_messages(
    listener: Listener, begin: int, keep_alive: _KeepAlive
) -> AsyncIterator[bytes]:
    sent, feed = begin, listener.feed
    while listener.may_continue:
        seen, over = feed.version, feed.run.status.is_over
        # The feed changes with every step; the database is only queried if the log did, too.
        is_new = feed.newest_event > sent
        run = listener.access.see(feed.run)
        found = await listener.runs.events_after(run, sent) if is_new else ()
        for event in found:
            sent = event.id
            yield _message("log", LogEvent.of(event), number=event.id)
        if over and not found:
            yield _message("end", await listener.describe(run))
            return
        if not found and await keep_alive.is_due_after(seen):
            yield _KEEP_ALIVE


def _position(after: int | None, last_event_id: str | None) -> int | None:
    """Return where to start: a reconnecting browser's header is newer than the URL's `after`."""
    if last_event_id is not None and re.fullmatch(r"[0-9]{1,15}", last_event_id):
        return int(last_event_id)
    return after


def _message(event: str, data: object, *, number: int | None = None) -> bytes:
    if isinstance(data, BaseModel):
        text = data.model_dump_json().encode()
    else:
        text = msgspec.json.encode(data)
    head = f"id: {number}\n" if number is not None else ""
    return b"%sevent: %s\ndata: %s\n\n" % (head.encode(), event.encode(), text)


async def _in_pieces(messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Split messages: every layer on the way buffers a piece for a listener who doesn't read."""
    async for message in messages:
        for start in range(0, len(message), _PIECE_BYTES):
            yield message[start : start + _PIECE_BYTES]


def _answer(messages: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(_in_pieces(messages), media_type="text/event-stream", headers=_HEADERS)
