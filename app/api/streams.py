"""News of a run as server-sent events: metrics, status, event log."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from app.api.dependencies import TheTrainer, describe
from app.api.errors import ErrorAnswer
from app.api.schemas import LogEvent
from app.training.feed import RunFeed
from app.training.trainer import Trainer
from storage import metrics
from storage.records import JsonObject

_BEGIN_WITH = 100
_BETWEEN_MESSAGES_S = 0.25
_KEEP_ALIVE_S = 15.0
_LINES_PER_MESSAGE = 1_000

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


router = APIRouter(
    prefix="/runs/{run_id}", tags=["streams"], responses={404: {"model": ErrorAnswer}}
)


@router.get("/stream", response_class=StreamingResponse)
async def stream(
    run_id: str,
    trainer: TheTrainer,
    after: Annotated[int | None, Query(ge=0)] = None,
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
    after: Annotated[int | None, Query(ge=0)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Follow a run's event log until it is over."""
    feed = await trainer.feed(run_id)
    begin = _position(after, last_event_id) or 0
    return _answer(_event_messages(trainer, feed, begin))


class MetricsStream:
    """One listener's way through the lines of a run."""

    def __init__(
        self, trainer: Trainer, feed: RunFeed, *, begin: int | None, all_lines: bool
    ) -> None:
        self._trainer = trainer
        self._feed = feed
        self._all_lines = all_lines
        self._begin = begin
        self._truncations = feed.truncations
        self._told: int = max(0, feed.line_count - _BEGIN_WITH) if begin is None else begin

    async def messages(self) -> AsyncIterator[str]:
        """Yield what the listener is told, until the run is over."""
        if self._told > self._feed.line_count:
            self._told = self._feed.line_count
            yield _message("truncated", {"n": self._told})
        status = self._feed.run.status
        yield _message("status", {"status": status, "error": self._feed.run.error})
        while True:
            # The status is read before the lines: at the end no line can come after it.
            seen, now = self._feed.version, self._feed.run
            if self._truncations != self._feed.truncations:
                self._truncations = self._feed.truncations
                self._told = min(self._told, self._feed.kept_at_truncation)
                yield _message("truncated", {"n": self._told})
            async for message in self._new_lines():
                yield message
            if now.status is not status:
                status = now.status
                yield _message("status", {"status": status, "error": now.error})
            if now.status.is_over and self._told >= self._feed.line_count:
                yield _message("end", await describe(now, self._trainer))
                return
            if not await self._feed.wait(seen, _KEEP_ALIVE_S):
                yield ": still here\n\n"

    async def _new_lines(self) -> AsyncIterator[str]:
        lines = await self._lines_after(self._told)
        if not lines:
            return
        if self._all_lines:
            for start in range(0, len(lines), _LINES_PER_MESSAGE):
                batch = lines[start : start + _LINES_PER_MESSAGE]
                self._told = batch[-1]["n"]
                yield _message("metrics", {"items": batch}, number=self._told)
                await asyncio.sleep(_BETWEEN_MESSAGES_S)
        else:
            newest = dict(lines[-1])
            if len(lines) > 1:
                newest["skipped"] = len(lines) - 1
            self._told = newest["n"]
            yield _message("metrics", newest, number=self._told)
            await asyncio.sleep(_BETWEEN_MESSAGES_S)

    async def _lines_after(self, n: int) -> list[JsonObject]:
        lines = self._feed.lines_after(n)
        if lines is None:
            path = self._trainer.folder(self._feed.run.id).metrics
            lines = await asyncio.to_thread(metrics.read_lines, path, after=n)
        return lines


async def _event_messages(trainer: Trainer, feed: RunFeed, begin: int) -> AsyncIterator[str]:
    told = begin
    while True:
        seen, over = feed.version, feed.run.status.is_over
        found = await trainer.events(feed.run.id, after=told, limit=500)
        for event in reversed(found):
            told = event.id
            yield _message("log", LogEvent.of(event), number=event.id)
        if over:
            return
        if not found and not await feed.wait(seen, _KEEP_ALIVE_S):
            yield ": still here\n\n"


def _position(after: int | None, last_event_id: str | None) -> int | None:
    """A reconnecting browser's header is newer than the address it reconnects to."""
    if last_event_id is not None and last_event_id.isdecimal():
        return int(last_event_id)
    return after


def _message(event: str, data: object, *, number: int | None = None) -> str:
    if isinstance(data, BaseModel):
        text = data.model_dump_json()
    else:
        text = msgspec.json.encode(data).decode()
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {event}\ndata: {text}\n\n"


def _answer(messages: AsyncIterator[str]) -> StreamingResponse:
    return StreamingResponse(messages, media_type="text/event-stream", headers=_HEADERS)
