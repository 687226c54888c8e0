"""Let a worker play the episodes of an evaluation: pass its pictures on and hear what it says."""

import asyncio
from collections.abc import Callable

from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.protocol.user_code import EVALUATION_FILE, UserCodeError
from app.runs.state.frames import FrameHub
from app.workers.hanging import check_hanging, crash
from app.workers.local_worker import LocalWorker, Piece, ProtocolError, Shown, WorkerGoneError
from app.workers.video import Filmed

_PER_EPISODE_S = 600.0
_LOOK_AGAIN_S = 0.2
_LOOK_FOR_HANGING_S = 1.0


class EpisodePlayer:
    """One worker's way through all episodes."""

    def __init__(
        self, worker: LocalWorker, stage: FrameHub, told: Callable[[messages.Played], None]
    ) -> None:
        """Show the pictures on `stage`; `told` hears of every episode that is over."""
        self.filmed = Filmed()
        self._worker = worker
        self._stage = stage
        self._told = told
        self._tasks = Tasks()
        self._hanging: UserCodeError | None = None

    async def run(self, order: commands.Evaluate, policy: bytes) -> messages.Evaluated:
        """Return what the episodes brought.

        Raises:
            WorkerGoneError, ProtocolError, TimeoutError: if the worker doesn't play to the end.
            UserCodeError: if code that judges the episodes can't be used.
        """
        self._worker.send(messages.encode(order))
        self._worker.send(policy)
        self._tasks.start(self._keep_told_who_looks(), name="tell who looks")
        self._tasks.start(self._end_code_that_hangs(), name="look after code")
        try:
            with self._stage.on_stage():
                return await self._listen(order)
        except WorkerGoneError as error:
            raise self._hanging or crash(self._worker, error) from None
        except TimeoutError:
            raise ProtocolError(f"an episode took more than {_PER_EPISODE_S:g} s") from None
        finally:
            await self._tasks.cancel()

    async def _listen(self, order: commands.Evaluate) -> messages.Evaluated:
        while True:
            async with asyncio.timeout(_PER_EPISODE_S):
                said = await self._worker.receive()
            match said:
                case Shown(header=header, jpeg=jpeg):
                    self._stage.publish(header, jpeg)
                case messages.Played() if said.episodes <= order.episodes:
                    self._told(said)
                case messages.Filmed() if said.fps > 0:
                    self.filmed.said = said
                case Piece():
                    self.filmed.take(said)
                case messages.Evaluated() if said.is_whole(
                    order.episodes, by_code=order.code is not None
                ):
                    return said
                case messages.Failed():
                    raise _failure(said)
                case _:
                    raise ProtocolError(f"{type(said).__name__} instead of an evaluation")

    async def _end_code_that_hangs(self) -> None:
        """End a worker whose code keeps Python itself busy: it says so only on its way out."""
        while self._hanging is None:
            await asyncio.sleep(_LOOK_FOR_HANGING_S)
            try:
                check_hanging(self._worker)
            except UserCodeError as error:
                self._hanging = error
                self._worker.kill()

    async def _keep_told_who_looks(self) -> None:
        """Let the worker draw and keep to a pace for eyes only while somebody looks."""
        is_watched = False
        while True:
            if is_watched != bool(self._stage.viewers):
                is_watched = not is_watched
                self._worker.send(messages.encode(commands.Watch(on=is_watched)))
            await asyncio.sleep(_LOOK_AGAIN_S)


def _failure(said: messages.Failed) -> Exception:
    """Tell what a person wrote from everything else."""
    is_of_code = said.line is not None or said.reason.startswith(EVALUATION_FILE)
    return UserCodeError(said.reason, said.line) if is_of_code else ProtocolError(said.reason)
