"""Let a worker play the episodes of an evaluation: show its pictures and collect its results."""

import asyncio
from collections.abc import Callable

from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.protocol.user_code import EVALUATION_FILE, UserCodeError
from app.runs.state.frames import FrameHub
from app.workers.errors import JobFailedError, ProtocolError
from app.workers.job import Job
from app.workers.local_worker import Piece, Shown
from app.workers.video import Filmed

_PER_EPISODE_S = 600.0
_LOOK_AGAIN_S = 0.2


class EpisodePlayer:
    """One worker's way through all episodes."""

    def __init__(
        self, job: Job, frames: FrameHub, on_episode: Callable[[messages.Played], None]
    ) -> None:
        """Show the pictures among `frames`; `on_episode` gets every episode that is over."""
        self.filmed = Filmed()
        self._job = job
        self._frames = frames
        self._on_episode = on_episode
        self._tasks = Tasks()

    async def run(self, command: commands.Evaluate, policy: bytes) -> messages.Evaluated:
        """Return what the episodes brought.

        Raises:
            JobError: if the worker doesn't play to the end.
            UserCodeError: if code that evaluates the episodes can't be used.
        """
        self._job.worker.send(policy)
        self._tasks.start(self._keep_told_who_looks(), name="tell who looks")
        try:
            with self._frames.on_stage():
                return await self._listen(command)
        except JobFailedError as error:
            # Told apart from everything else: it is the user who can do something about it.
            if error.line is not None or str(error).startswith(EVALUATION_FILE):
                raise UserCodeError(str(error), error.line) from None
            raise
        finally:
            await self._tasks.cancel()

    async def _listen(self, command: commands.Evaluate) -> messages.Evaluated:
        while True:
            match received := await self._job.next(within_s=_PER_EPISODE_S):
                case Shown(header=header, jpeg=jpeg):
                    self._frames.publish(header, jpeg)
                case messages.Played() if received.episodes <= command.episodes:
                    self._on_episode(received)
                case messages.Filmed() if received.fps > 0:
                    self.filmed.said = received
                case Piece():
                    self.filmed.take(received)
                case messages.Evaluated() if received.is_whole(
                    command.episodes, by_code=command.code is not None
                ):
                    return received
                case _:
                    raise ProtocolError(f"{type(received).__name__} instead of an evaluation")

    async def _keep_told_who_looks(self) -> None:
        """Let the worker draw, in real time, only while somebody looks."""
        is_watched = False
        while True:
            if is_watched != bool(self._frames.viewers):
                is_watched = not is_watched
                self._job.worker.send(messages.encode(commands.Watch(on=is_watched)))
            await asyncio.sleep(_LOOK_AGAIN_S)
