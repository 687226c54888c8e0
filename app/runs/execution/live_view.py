"""Show a run while it trains: a second worker plays the newest policy while somebody looks."""

import asyncio
import logging
import time

from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.protocol.user_code import UserCodeError
from app.run_config.config import RunConfig
from app.runs.state.feed import RunFeed
from app.workers.errors import JobError, WorkerGoneError
from app.workers.job import Job
from app.workers.local_worker import LocalWorker, Piece, Received, Shown
from app.workers.pool import WorkerPool
from app.workers.side_slots import SideSlots
from app.workers.video import Filmed

FRAMES_PER_SECOND = 15

_RETRY_AFTER_S = 3.0
_LINGER_S = 10.0
"""So long a viewer goes on when nobody looks: a reload finds it at work."""
_UNSENT_WEIGHTS = 1 << 19
"""A viewer that hasn't read this much gets no newer weights on top."""
_GIVES_WAY = "A test has its place. The live view comes back after it."
_BUSY = "As many runs are being watched as may be at once. This one is shown when another ends."

_log = logging.getLogger(__name__)


class LiveView:
    """The pictures of one run in training."""

    def __init__(
        self,
        feed: RunFeed,
        config: RunConfig,
        pool: WorkerPool,
        *,
        slots: SideSlots,
        trainer: LocalWorker,
        silence_s: float,
    ) -> None:
        self._feed = feed
        self._config = config
        self._pool = pool
        self._slots = slots
        self._trainer = trainer
        self._silence_s = silence_s
        self._tasks = Tasks()
        self._showing: asyncio.Task[None] | None = None
        self._viewer: LocalWorker | None = None
        self._is_paused = False
        self._gave_way = False
        self._film: asyncio.Future[Filmed] | None = None
        self._filmed = Filmed()
        self._weights: bytes | None = None
        self._has_weights = asyncio.Event()
        feed.frames.on_viewers = self._viewers_changed
        self._viewers_changed()

    def give_weights(self, frame: bytes) -> None:
        """Pass the policy's newest weights on to whoever plays it."""
        self._weights = frame
        self._has_weights.set()
        if self._viewer is not None and self._viewer.unsent_bytes < _UNSENT_WEIGHTS:
            self._viewer.send(frame)

    def pause(self, *, on: bool) -> None:
        """Hold the picture while training waits."""
        self._is_paused = on
        if self._viewer is not None:
            self._viewer.send(messages.encode(commands.Pause(on=on)))

    async def film(self) -> Filmed:
        """Return a film of the next whole episode; the picture is live as long as that takes.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        if self._film is None:
            self._film = asyncio.get_running_loop().create_future()
            if self._viewer is not None:
                self._viewer.send(messages.encode(commands.Film()))
        with self._feed.frames.looking():
            return await asyncio.shield(self._film)

    async def close(self) -> None:
        """End the pictures; the last one stays on the feed."""
        self._feed.frames.on_viewers = lambda: None
        await self._tasks.cancel()
        self._feed.set_live_note(None)
        if self._film is not None:
            self._film.set_exception(WorkerGoneError())
            # Nobody may be left to hear of it.
            self._film.exception()

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
                async with self._pool.job(command, patient=True) as job:
                    self._viewer = job.worker
                    giving_way = self._tasks.start(self._give_way(job.worker), name="give way")
                    try:
                        await self._pass_on_pictures(job)
                    finally:
                        giving_way.cancel()
                        self._viewer = None
            except (JobError, UserCodeError) as error:
                self._ended_early(error)
            finally:
                self._trainer.send(messages.encode(commands.Watch(on=False)))

    def _ended_early(self, error: Exception) -> None:
        note = _GIVES_WAY if self._gave_way else "The live view failed; it is tried again."
        if not self._gave_way:
            _log.warning("The live view of run %s ended: %r", self._feed.run.id, error)
        self._gave_way = False
        self._feed.set_live_note(note)
        self._tasks.start(self._try_again(), name="show it again")

    async def _give_way(self, viewer: LocalWorker) -> None:
        """Leave the place to a test that waits for one."""
        await self._slots.until_wanted()
        self._gave_way = True
        viewer.kill()

    async def _try_again(self) -> None:
        await asyncio.sleep(_RETRY_AFTER_S)
        self._viewers_changed()

    async def _pass_on_pictures(self, job: Job) -> None:
        if self._weights is not None:
            job.worker.send(self._weights)
        self._filmed = Filmed()
        if self._film is not None:
            job.worker.send(messages.encode(commands.Film()))
        looked_at = time.monotonic()
        while time.monotonic() - looked_at < _LINGER_S:
            self._hear(await job.next(within_s=None if self._is_paused else self._silence_s))
            if self._feed.frames.viewers_of_training:
                looked_at = time.monotonic()

    def _hear(self, said: Received) -> None:
        match said:
            case Shown(header=header, jpeg=jpeg):
                self._feed.frames.publish(header, jpeg)
            case messages.Filmed() if said.fps > 0:
                self._filmed = Filmed(said=said)
            case Piece():
                self._filmed.take(said)
            case messages.Played():
                self._filmed.played = said
                film, self._film = self._film, None
                if film is not None:
                    film.set_result(self._filmed)
