"""Let a worker evaluate policies, and return the results to the caller."""

from collections.abc import Callable

from app.protocol import EVALUATION_FILE, UserCodeError, commands, messages
from app.workers.errors import JobFailedError, ProtocolError
from app.workers.job import Job
from app.workers.video import RecordedVideo
from app.workers.worker import Piece, RenderedFrame

_PER_EPISODE_S = 600.0

OnFrame = Callable[[messages.FrameHeader, bytes], None]
OnEpisode = Callable[[messages.Played], None]


class EpisodePlayer:
    """Plays one policy after the other in a worker.

    It stores nothing and is independent of runs: the caller chooses seeds and handles results.
    """

    def __init__(
        self,
        job: Job,
        command: commands.Evaluate,
        *,
        on_frame: OnFrame = lambda *_: None,
        on_episode: OnEpisode = lambda _: None,
    ) -> None:
        """`on_episode` gets every finished episode, if the command has `reports_each`."""
        self._job = job
        self._command = command
        self._on_frame = on_frame
        self._on_episode = on_episode

    def watch(self, *, on: bool) -> None:
        """Let the worker render in real time, or play as fast as it can."""
        self._job.worker.send(messages.encode(commands.Watch(on=on)))

    async def play(
        self, policy: bytes, *, episodes: int, seed: int
    ) -> tuple[messages.Evaluated, RecordedVideo]:
        """Return the results of a policy's episodes, and a video if the command records one.

        The first episode has this `seed`; each further one adds 1.

        Raises:
            JobError: if the worker doesn't play to the end.
            UserCodeError: if a user's code can't be used.
        """
        self._job.worker.send(messages.encode(commands.Episodes(count=episodes, seed=seed)))
        self._job.worker.send(policy)
        try:
            return await self._receive(episodes)
        except JobFailedError as error:
            # A separate type of error, because the user can fix it.
            if error.line is not None or str(error).startswith(EVALUATION_FILE):
                raise UserCodeError(str(error), error.line) from None
            raise

    async def _receive(self, count: int) -> tuple[messages.Evaluated, RecordedVideo]:
        command, video = self._command, RecordedVideo()
        while True:
            match received := await self._job.next(within_s=_PER_EPISODE_S):
                case RenderedFrame(header=header, jpeg=jpeg) if command.renders:
                    self._on_frame(header, jpeg)
                case messages.Played(episodes=n) if command.reports_each and n <= count:
                    self._on_episode(received)
                case messages.VideoRecorded() if command.records_video and received.fps > 0:
                    video.header = received
                case Piece():
                    video.take(received)
                case messages.Evaluated() if received.is_whole(
                    count, by_code=command.code is not None
                ):
                    return received, video
                case _:
                    raise ProtocolError(f"{type(received).__name__} instead of an evaluation")
