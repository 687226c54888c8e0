"""News of a run as server-sent events: metrics, status, event log."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from app.access.run_access import RunAccess
from app.api.shared.dependencies import LARGEST, TheTrainer, describe
from app.api.shared.errors import ErrorAnswer
from app.api.shared.schemas import LogEvent
from app.runs.state.feed import RunFeed
from storage.metrics import metrics
from storage.records.runs import RunStatus

_BEGIN_WITH = 100
_BETWEEN_MESSAGES_S = 0.25
KEEP_ALIVE_S = 15.0
"""Proxies take a stream that is silent for much longer for a dead one."""
_LINES_PER_MESSAGE = 1_000
_PIECE = 16 << 10
_STILL_HERE = b": still here\n\n"

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


router = APIRouter(
    prefix="/runs/{run_id}", tags=["streams"], responses={404: {"model": ErrorAnswer}}
)


@router.get("/stream", response_class=StreamingResponse)
async def stream(
    run_id: str,
    trainer: TheTrainer,
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    all_: Annotated[bool, Query(alias="all")] = False,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Follow a run's metrics and status until it is over."""
    feed = await trainer.feed(run_id)
    begin = _position(after, last_event_id)
    news = MetricsStream(trainer, feed, begin=begin, all_lines=all_)
    return _answer(news.messages())


@router.get("/events/stream", response_class=StreamingResponse)
async def stream_events(
    run_id: str,
    trainer: TheTrainer,
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Follow a run's event log until it is over."""
    feed = await trainer.feed(run_id)
    begin = _position(after, last_event_id) or 0
    silence = _Silence(feed)
    return _answer(silence.broken_by(_event_messages(trainer, feed, begin, silence)))


class _Silence:
    """How long a listener was told nothing, whatever else happened to the run meanwhile."""

    def __init__(self, feed: RunFeed) -> None:
        self._feed = feed
        self._ends_at = time.monotonic() + KEEP_ALIVE_S

    async def broken_by(self, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Hand messages on; after each the silence begins anew."""
        async for message in messages:
            yield message
            self._ends_at = time.monotonic() + KEEP_ALIVE_S

    async def lasts_too_long(self, seen: int) -> bool:
        """Wait for news of the feed or the end of the silence; return whether that has come."""
        await self._feed.wait(seen, max(0.0, self._ends_at - time.monotonic()))
        return time.monotonic() >= self._ends_at


class MetricsStream:
    """One listener's way through the lines of a run."""

    def __init__(
        self, trainer: RunAccess, feed: RunFeed, *, begin: int | None, all_lines: bool
    ) -> None:
        self._trainer = trainer
        self._feed = feed
        self._all_lines = all_lines
        self._begin = begin
        self._truncations = feed.truncations
        self._reader: metrics.LineReader | None = None
        self._silence = _Silence(feed)
        self._told: int = max(0, feed.line_count - _BEGIN_WITH) if begin is None else begin

    def messages(self) -> AsyncIterator[bytes]:
        """Yield what the listener is told, until the run is over."""
        return self._silence.broken_by(self._messages())

    async def _messages(self) -> AsyncIterator[bytes]:
        self._said = min(self._told, self._feed.line_count)
        if self._told > self._feed.line_count:
            yield self._take_back(self._feed.line_count)
        status = self._feed.run.status
        yield _message("status", {"status": status, "error": self._feed.run.error})
        while self._may_go_on:
            # The status is read before the lines: at the end no line can come after it.
            seen, now = self._feed.version, self._feed.run
            if self._truncations != self._feed.truncations:
                kept = self._feed.kept_since(self._truncations)
                yield self._take_back(min(self._told, kept))
            async for message in self._new_lines(now.status):
                yield message
            if now.status is not status:
                status = now.status
                yield _message("status", {"status": status, "error": now.error})
            if now.status.is_over and self._told >= self._feed.line_count:
                yield _message("end", await describe(now, self._trainer))
                return
            if await self._silence.lasts_too_long(seen):
                yield _STILL_HERE

    def _take_back(self, kept: int) -> bytes:
        self._truncations = self._feed.truncations
        self._told = self._said = kept
        self._reader = None
        return _message("truncated", {"n": kept})

    @property
    def _may_go_on(self) -> bool:
        return self._trainer.visitor.sees(self._feed.run) and not self._feed.is_deleted

    async def _new_lines(self, status: RunStatus) -> AsyncIterator[bytes]:
        """Yield lines until all are told, or something else has to be told first."""
        while self._may_go_on and (message := await self._next_message()):
            yield message
            await asyncio.sleep(_BETWEEN_MESSAGES_S)
            is_cut = self._truncations != self._feed.truncations
            if is_cut or self._feed.run.status is not status:
                return

    async def _next_message(self) -> bytes | None:
        """Return what there is to tell; a listener who doesn't read keeps no more than that."""
        lines = self._feed.lines_after(self._told)
        if lines is None and self._all_lines:
            return await self._from_the_file()
        self._reader = None
        # If it has to skip, only the newest is told, and that one is in memory.
        lines = list(self._feed.lines) if lines is None else lines
        if not lines:
            return None
        if self._all_lines:
            lines = lines[:_LINES_PER_MESSAGE]
        self._told = lines[-1]["n"]
        skipped = self._told - self._said - 1
        self._said = self._told
        if self._all_lines:
            return _message("metrics", {"items": lines}, number=self._told)
        newest = {**lines[-1], "skipped": skipped} if skipped > 0 else lines[-1]
        return _message("metrics", newest, number=self._told)

    async def _from_the_file(self) -> bytes | None:
        """Return lines that are no longer in memory, as they are written there."""
        if self._reader is None:
            path = self._trainer.folder(self._feed.run.id).metrics
            self._reader = metrics.LineReader(path, after=self._told)
        lines = await self._trainer.read_on(self._reader, _LINES_PER_MESSAGE)
        self._told = self._said = self._reader.number
        return _message("metrics", {"items": lines}, number=self._told) if lines else None


async def _event_messages(
    trainer: RunAccess, feed: RunFeed, begin: int, silence: _Silence
) -> AsyncIterator[bytes]:
    told = begin
    while trainer.visitor.sees(feed.run) and not feed.is_deleted:
        seen, over = feed.version, feed.run.status.is_over
        # The feed changes with every step; the database is asked only if the log did, too.
        is_new = feed.newest_event > told
        found = await trainer.events_after(feed.run.id, told) if is_new else ()
        for event in found:
            told = event.id
            yield _message("log", LogEvent.of(event), number=event.id)
        if over and not found:
            yield _message("end", await describe(feed.run, trainer))
            return
        if not found and await silence.lasts_too_long(seen):
            yield _STILL_HERE


def _position(after: int | None, last_event_id: str | None) -> int | None:
    """A reconnecting browser's header is newer than the address it reconnects to."""
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
    """Send little at a time: every layer on the way to a listener who doesn't read keeps a copy."""
    async for message in messages:
        for start in range(0, len(message), _PIECE):
            yield message[start : start + _PIECE]


def _answer(messages: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(_in_pieces(messages), media_type="text/event-stream", headers=_HEADERS)
