"""Streams of a run that makes progress all the time but writes no lines or events."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from fastapi.responses import StreamingResponse

from app.access.access import Access
from app.accounts.principals import NO_ACCOUNTS
from app.api.runs import streams
from app.api.shared.dependencies import Describe
from app.core.settings import read_settings
from app.lab import Lab
from app.run_config.request import RunRequest
from app.runs.state.feed import RunFeed
from storage.records.grants import Allowance, VisibleRun
from storage.records.runs import EventRecord, Progress

NO_OWNER = Allowance(owner=None)
_KEEP_ALIVE = b": still here\n\n"
_SILENCE_S = 0.3

Follow = Callable[[VisibleRun, Lab, Access, Describe], Awaitable[StreamingResponse]]


@pytest.fixture
async def lab(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    monkeypatch.setattr(streams, "KEEP_ALIVE_S", _SILENCE_S)
    lab = Lab(read_settings([], os.environ))
    yield lab
    await lab.close()


@pytest.fixture
async def busy_feed(lab: Lab) -> AsyncIterator[RunFeed]:
    """The feed of a run that makes progress every few milliseconds and writes nothing."""
    (run,) = await lab.runs.create(NO_OWNER, RunRequest(env_id="CartPole-v1", algorithm="PPO"))
    feed = await lab.runs.feed(lab.access_for(NO_ACCOUNTS).see(run))

    async def make_progress() -> None:
        while True:
            feed.set_progress(Progress(timesteps=feed.version))
            await asyncio.sleep(0.01)

    progressing = asyncio.ensure_future(make_progress())
    yield feed
    progressing.cancel()


async def open_stream(follow: Follow, lab: Lab, feed: RunFeed) -> StreamingResponse:
    access = lab.access_for(NO_ACCOUNTS)
    return await follow(access.see(feed.run), lab, access, Describe(lab, access))


async def read_until_second_comment(answer: StreamingResponse) -> list[float]:
    """Return the times of the comments in seconds."""
    began, comments = time.monotonic(), list[float]()
    async with asyncio.timeout(10):
        async for piece in answer.body_iterator:
            if piece == _KEEP_ALIVE:
                comments.append(time.monotonic() - began)
            if len(comments) == 2:
                break
    return comments


@pytest.mark.parametrize("follow", [streams.stream, streams.stream_events])
async def test_a_run_with_progress_but_no_lines_still_sends_keep_alive_comments(
    lab: Lab, busy_feed: RunFeed, follow: Follow
) -> None:
    answer = await open_stream(follow, lab, busy_feed)

    first, second = await read_until_second_comment(answer)

    assert first >= _SILENCE_S
    assert second - first >= _SILENCE_S


async def test_the_log_is_read_only_when_there_are_new_events(
    lab: Lab, busy_feed: RunFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested, events_after = list[int](), lab.runs.events_after

    async def counted(run: VisibleRun, after: int) -> tuple[EventRecord, ...]:
        requested.append(after)
        return await events_after(run, after)

    monkeypatch.setattr(lab.runs, "events_after", counted)
    await lab.runs.unchecked.add_event(busy_feed.run.id, "note", "Something happened.")

    answer = await open_stream(streams.stream_events, lab, busy_feed)
    await read_until_second_comment(answer)

    assert requested == [0]
