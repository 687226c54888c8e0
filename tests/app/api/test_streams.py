"""Streams of a run that changes all the time and has little to tell."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from fastapi.responses import StreamingResponse

from app.access.run_access import RunAccess
from app.accounts.visitors import NO_ACCOUNTS
from app.api.runs import streams
from app.core.settings import read_settings
from app.lab import Lab
from app.run_config.config import RunRequest
from app.runs.state.feed import RunFeed
from storage.records.runs import EventRecord, Progress

_STILL_HERE = b": still here\n\n"
_SILENCE_S = 0.3

Follow = Callable[[str, RunAccess], Awaitable[StreamingResponse]]


@pytest.fixture
async def lab(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lab]:
    monkeypatch.setattr(streams, "KEEP_ALIVE_S", _SILENCE_S)
    lab = Lab(read_settings([], os.environ))
    yield lab
    await lab.close()


@pytest.fixture
async def busy_feed(lab: Lab) -> AsyncIterator[RunFeed]:
    """The feed of a run that comes further every few milliseconds and says nothing."""
    run = await lab.trainer.create(RunRequest(env_id="CartPole-v1", algorithm="PPO"))
    feed = await lab.trainer.feed(run.id)

    async def go_on() -> None:
        while True:
            feed.set_progress(Progress(timesteps=feed.version))
            await asyncio.sleep(0.01)

    going_on = asyncio.ensure_future(go_on())
    yield feed
    going_on.cancel()


async def read_until_second_comment(answer: StreamingResponse) -> list[float]:
    """Return when each comment came, in seconds."""
    began, comments = time.monotonic(), list[float]()
    async with asyncio.timeout(10):
        async for piece in answer.body_iterator:
            if piece == _STILL_HERE:
                comments.append(time.monotonic() - began)
            if len(comments) == 2:
                break
    return comments


@pytest.mark.parametrize("follow", [streams.stream, streams.stream_events])
async def test_a_run_that_only_comes_further_keeps_its_listeners_awake(
    lab: Lab, busy_feed: RunFeed, follow: Follow
) -> None:
    answer = await follow(busy_feed.run.id, lab.trainer_for(NO_ACCOUNTS))

    first, second = await read_until_second_comment(answer)

    assert first >= _SILENCE_S
    assert second - first >= _SILENCE_S


async def test_the_log_is_asked_for_only_when_there_is_something_new(
    lab: Lab, busy_feed: RunFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, events_after = list[int](), lab.trainer.events_after

    async def counted(run_id: str, after: int) -> tuple[EventRecord, ...]:
        asked.append(after)
        return await events_after(run_id, after)

    monkeypatch.setattr(lab.trainer, "events_after", counted)
    await lab.trainer.tell(busy_feed.run.id, "note", "Something happened.")

    answer = await streams.stream_events(busy_feed.run.id, lab.trainer_for(NO_ACCOUNTS))
    await read_until_second_comment(answer)

    assert asked == [0]
