"""String the clips of a run together into one video of how its policy came about."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from app.evaluation.evaluation import Evaluation, EvaluationStatus, begin_evolution
from app.evaluation.failure import fail
from app.evaluation.register import EvaluationRegister, UnderWay
from app.protocol import commands, messages
from app.runs.execution.time_machine import CLIP_SECONDS, Clip
from app.runs.service import RunService
from app.workers.errors import ProtocolError
from app.workers.job import Job
from app.workers.local_worker import Piece
from app.workers.pool import WorkerPool
from app.workers.video import Filmed
from storage.errors import WrongStateError

_LEAST_CLIPS = 2
_SECONDS = 60.0
"""So long the whole video is at most, however many clips there are."""
_PER_CLIP_S = 60.0


class Evolutions:
    """Makes a video of all clips of a run in a worker, among its evaluations."""

    def __init__(self, trainer: RunService, pool: WorkerPool, register: EvaluationRegister) -> None:
        self._trainer = trainer
        self._machine = trainer.time_machine
        self._pool = pool
        self._register = register

    async def start(self, run_id: str) -> Evaluation:
        """Let the video of a run's clips wait for its turn.

        Raises:
            WrongStateError: if there are too few clips, or it is being made already.
            NotWrittenError: if it can't be written down; then nothing waits.
        """
        run = await self._trainer.get(run_id)
        others = (one for one in self._register.under_way() if one.run_id == run_id)
        if any(one.kind == "evolution" for one in others):
            raise WrongStateError(run.id, run.status, "have two evolution videos made at once")
        clips = await self._machine.clips(run_id)
        if len(clips) < _LEAST_CLIPS:
            wish = "have an evolution video: its time machine has fewer than two clips yet"
            raise WrongStateError(run.id, run.status, wish)
        begun = begin_evolution(run_id, len(clips))
        return (await self._register.begin(begun, self._follow)).evaluation

    async def _follow(self, known: UnderWay) -> None:
        try:
            async with self._pool.side_slots.for_a_test():
                await self._make(known)
        except Exception as error:  # noqa: BLE001 - it always ends with a reason
            await fail(self._trainer, self._register, known, error)

    async def _make(self, known: UnderWay) -> None:
        run_id = known.evaluation.run_id
        clips, content = await self._take_clips(run_id)
        await self._register.change(
            known,
            status=EvaluationStatus.RUNNING,
            started_at=datetime.now(UTC),
            episodes=len(clips),
        )
        command, file = _command(clips), ("clips.bin", content)
        async with self._pool.job(command, file=file, patient=True) as job:
            filmed = await _receive_video(job)
        summary = replace(known.evaluation, played=len(clips), timesteps=clips[-1].timesteps)

        async def tell(_: Evaluation) -> None:
            text = f"The evolution video is ready: {len(clips)} moments."
            await self._trainer.tell(run_id, "evolution_completed", text)

        await self._register.complete(known, summary, filmed, tell)

    async def _take_clips(self, run_id: str) -> tuple[Sequence[Clip], bytes]:
        """Return the clips of a run, and all their files as one."""
        clips = await self._machine.clips(run_id)
        paths = [self._machine.path(run_id, clip) for clip in clips]

        def read() -> bytes:
            return msgspec.msgpack.encode([path.read_bytes() for path in paths])

        return clips, await asyncio.to_thread(read)


async def _receive_video(job: Job) -> Filmed:
    filmed = Filmed()
    while True:
        match received := await job.next(within_s=_PER_CLIP_S):
            case messages.Filmed() if received.fps > 0:
                filmed.said = received
            case Piece():
                if filmed.take(received):
                    return filmed
            case _:
                raise ProtocolError(f"{type(received).__name__} instead of a video")


def _command(clips: Sequence[Clip]) -> commands.Evolve:
    return commands.Evolve(
        captions=tuple(_caption(clip) for clip in clips),
        seconds=min(CLIP_SECONDS, _SECONDS / len(clips)),
    )


def _caption(clip: Clip) -> str:
    score = "-" if clip.score is None else f"{clip.score:,.1f}"
    return f"Step {clip.timesteps:,}   Score {score}"
