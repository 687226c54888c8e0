"""Show a run while it trains: a second worker plays the newest policy while there are viewers."""

import asyncio
import logging
import time

from app.core import Tasks
from app.protocol import UserCodeError, commands, messages
from app.run_config import RunConfig
from app.runs.state import RunFeed
from app.workers import (
    Job,
    JobError,
    Piece,
    Received,
    RecordedVideo,
    RenderedFrame,
    Worker,
    WorkerGoneError,
    WorkerPool,
)

FRAMES_PER_SECOND = 15

_RETRY_AFTER_S = 3.0
_LINGER_S = 10.0
"""A worker keeps playing this long without viewers, so that a page reload finds it running."""
_UNSENT_WEIGHTS = 1 << 19
"""With this many unread bytes, a worker gets no newer weights."""
_PREEMPTED = "An evaluation uses its worker. The live view returns afterwards."
_BUSY = "The limit of concurrent live views is reached. This one starts when another ends."

_log = logging.getLogger(__name__)


class LiveView:
    """Renders the newest policy of one run in training."""

    def __init__(
        self,
        feed: RunFeed,
        config: RunConfig,
        pool: WorkerPool,
        *,
        trainer: Worker,
        silence_s: float,
    ) -> None:
        self._feed = feed
        self._config = config
        self._pool = pool
        self._slots = pool.side_slots
        self._trainer = trainer
        self._silence_s = silence_s
        self._tasks = Tasks()
        self._showing: asyncio.Task[None] | None = None
        self._player: Worker | None = None
        self._is_paused = False
        self._was_preempted = False
        self._requested_video: asyncio.Future[RecordedVideo] | None = None
        self._video = RecordedVideo()
        self._weights: bytes | None = None
        self._has_weights = asyncio.Event()
        feed.frames.viewers_changed.subscribe(self._viewers_changed)
        self._viewers_changed()

    def update_weights(self, frame: bytes) -> None:
        """Send the policy's newest weights to the worker that plays it."""
        self._weights = frame
        self._has_weights.set()
        if self._player is not None and self._player.unsent_bytes < _UNSENT_WEIGHTS:
            self._player.send(frame)

    def pause(self, *, on: bool) -> None:
        """Freeze the live view while training is paused."""
        self._is_paused = on
        if self._player is not None:
            self._player.send(messages.encode(commands.Pause(on=on)))

    async def record_video(self) -> RecordedVideo:
        """Return a video of the next complete episode; the live view stays on until it is done.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        if self._requested_video is None:
            self._requested_video = asyncio.get_running_loop().create_future()
            if self._player is not None:
                self._player.send(messages.encode(commands.RecordVideo()))
        with self._feed.frames.viewing():
            return await asyncio.shield(self._requested_video)

    async def close(self) -> None:
        """End the live view; the last frame stays on the feed."""
        self._feed.frames.viewers_changed.unsubscribe(self._viewers_changed)
        await self._tasks.cancel()
        self._feed.set_live_note(None)
        if self._requested_video is not None:
            self._requested_video.set_exception(WorkerGoneError())
            # Mark it as retrieved: the requester may be gone.
            self._requested_video.exception()

    def _viewers_changed(self) -> None:
        if self._feed.frames.viewers_of_training and (
            self._showing is None or self._showing.done()
        ):
            self._showing = self._tasks.start(self._show(), name=f"show {self._feed.run.id}")

    async def _show(self) -> None:
        if self._slots.locked():
            self._feed.set_live_note(_BUSY)
        async with self._slots:
            self._feed.set_live_note(None)
            self._trainer.send(messages.encode(commands.Watch(on=True)))
            try:
                await self._has_weights.wait()
                command = commands.View(setup=self._config.setup(), fps=FRAMES_PER_SECOND)
                async with self._pool.job(command, low_priority=True) as job:
                    self._player = job.worker
                    yielding = self._tasks.start(self._yield_slot(job.worker), name="yield slot")
                    try:
                        await self._forward_frames(job)
                    finally:
                        yielding.cancel()
                        self._player = None
            except (JobError, UserCodeError) as error:
                self._schedule_restart(error)
            finally:
                self._trainer.send(messages.encode(commands.Watch(on=False)))

    def _schedule_restart(self, error: Exception) -> None:
        note = _PREEMPTED if self._was_preempted else "The live view failed; retrying."
        if not self._was_preempted:
            _log.warning("The live view of run %s ended: %r", self._feed.run.id, error)
        self._was_preempted = False
        self._feed.set_live_note(note)
        self._tasks.start(self._restart_later(), name="restart the live view")

    async def _yield_slot(self, player: Worker) -> None:
        """Yield the side slot to a job with priority."""
        await self._slots.until_requested()
        self._was_preempted = True
        player.kill()

    async def _restart_later(self) -> None:
        await asyncio.sleep(_RETRY_AFTER_S)
        self._viewers_changed()

    async def _forward_frames(self, job: Job) -> None:
        if self._weights is not None:
            job.worker.send(self._weights)
        self._video = RecordedVideo()
        if self._requested_video is not None:
            job.worker.send(messages.encode(commands.RecordVideo()))
        last_viewed = time.monotonic()
        while time.monotonic() - last_viewed < _LINGER_S:
            self._handle(await job.next(within_s=None if self._is_paused else self._silence_s))
            if self._feed.frames.viewers_of_training:
                last_viewed = time.monotonic()

    def _handle(self, message: Received) -> None:
        match message:
            case RenderedFrame(header=header, jpeg=jpeg):
                self._feed.frames.publish(header, jpeg)
            case messages.VideoRecorded() if message.fps > 0:
                self._video = RecordedVideo(header=message)
            case Piece():
                self._video.take(message)
            case messages.Played():
                self._video.played = message
                requested, self._requested_video = self._requested_video, None
                if requested is not None:
                    requested.set_result(self._video)
