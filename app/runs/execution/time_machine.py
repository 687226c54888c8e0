"""The time machine: a short clip of moments of every training, made when a helper is idle."""

import asyncio
import logging
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from app.core.events import Event
from app.core.storage_thread import StorageThread
from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.protocol.user_code import UserCodeError
from app.run_config.config import RunConfig
from app.runs.execution.periodic_evaluation import SEED
from app.runs.state.capacity import CodeRefusal
from app.runs.state.journal import Journal
from app.workers.errors import JobError, ProtocolError
from app.workers.job import Job
from app.workers.local_worker import Piece
from app.workers.pool import WorkerPool
from app.workers.video import Filmed
from storage.database import runs
from storage.errors import RunNotFoundError, StorageError
from storage.files.clip_files import ClipFiles, runs_with_clips_to_make
from storage.files.lab_folder import LabFolder

CLIP_SECONDS = 5.0

_LARGEST_CLIP = 4 << 20
_PER_CLIP_S = 300.0
_MOST_FAILURES = 3
_LINGER_S = 40.0
"""So long a worker waits for the next moment: checkpoints come every half minute."""
_RETRY_AFTER_S = 30.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A few seconds with the policy that a run had at some step."""

    timesteps: int
    score: float | None
    """What the episode on the fixed seed brought; None if it didn't end."""
    size: int
    width: int
    height: int
    fps: float
    seconds: float
    created_at: datetime

    def url(self, run_id: str) -> str:
        """Return the address of its video."""
        return f"/api/runs/{run_id}/clips/{self.timesteps}"


_FACTS = msgspec.json.Decoder(Clip)


class TimeMachine:
    """Keeps moments of runs and films them one after the other, in a place that nobody wants."""

    def __init__(
        self,
        journal: Journal,
        folder: LabFolder,
        storage: StorageThread,
        pool: WorkerPool,
        code_refusal: CodeRefusal,
        *,
        kept: int,
    ) -> None:
        self.changed = Event[str]()
        """The clips of the run with this id are others."""
        self.kept = kept
        """How many moments of each run are kept beside those of its checkpoints."""
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._pool = pool
        self._code_refusal = code_refusal
        self._waiting: dict[str, None] = {}
        self._news = asyncio.Event()
        self._failures: Counter[str] = Counter()
        self._tasks = Tasks()

    async def open(self) -> None:
        """Go on with what an earlier server left."""
        if self.kept:
            left = await asyncio.to_thread(runs_with_clips_to_make, self._folder.path)
            self._waiting |= dict.fromkeys(left)
            self._tasks.start(self._work(), name="time machine")

    async def close(self) -> None:
        """End what is under way; the next start goes on with it."""
        await self._tasks.cancel()

    async def remember(self, run_id: str, timesteps: int, policy: bytes) -> None:
        """Keep a policy until its clip is made; without room on the disk there is none."""
        if not self.kept or self._failures[run_id] >= _MOST_FAILURES:
            return
        try:
            await asyncio.to_thread(self._add, run_id, timesteps, policy)
        except OSError as error:
            _log.warning("A moment of run %s was not kept: %s", run_id, error)
            return
        self._waiting[run_id] = None
        self._news.set()

    async def clips(self, run_id: str) -> list[Clip]:
        """Return the clips of a run, earliest first."""
        return await asyncio.to_thread(self._read, run_id)

    def path(self, run_id: str, clip: Clip) -> Path:
        """Return where a clip of a run lies."""
        return self._files(run_id).clip(clip.timesteps)

    def _files(self, run_id: str) -> ClipFiles:
        return ClipFiles(self._folder.run(run_id).clips_path)

    def _add(self, run_id: str, timesteps: int, policy: bytes) -> None:
        files = self._files(run_id)
        files.add(timesteps, policy)
        checkpoints = self._folder.run(run_id).checkpoints
        files.thin_out(self.kept, keep=frozenset(file.timesteps for file in checkpoints))

    def _read(self, run_id: str) -> list[Clip]:
        found = []
        for facts in self._files(run_id).facts():
            try:
                found.append(_FACTS.decode(facts))
            except msgspec.MsgspecError as error:
                _log.warning("A clip of run %s can't be read and is left out: %s", run_id, error)
        return found

    async def _work(self) -> None:
        while True:
            while self._waiting:
                await self._visit(next(iter(self._waiting)))
            self._news.clear()
            await self._news.wait()

    async def _visit(self, run_id: str) -> None:
        """Film a run for as long as nobody wants the place."""
        try:
            run = await self._storage(runs.get_run, run_id)
            command = _command(RunConfig.model_validate(run.config))
        except (RunNotFoundError, ValueError):
            # Deleted, or made by another version of the program.
            self._waiting.pop(run_id, None)
            return
        except StorageError:
            await asyncio.sleep(_RETRY_AFTER_S)
            return
        if await self._code_refusal(run) is not None:
            self._waiting.pop(run_id, None)
            return
        async with self._pool.side_slots.left_over():
            filming = self._tasks.start(self._film_run(run_id, command), name=f"film {run_id}")
            leaving = self._tasks.start(self._pool.side_slots.until_displaced(), name="give way")
            try:
                await asyncio.wait({filming, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (filming, leaving):
                    task.cancel()
                await asyncio.gather(filming, leaving, return_exceptions=True)

    async def _film_run(self, run_id: str, command: commands.Clip) -> None:
        step: int | None = None
        try:
            async with self._pool.job(command, patient=True) as job:
                while (step := await self._next(run_id)) is not None:
                    await self._film(job, run_id, step)
        except (JobError, UserCodeError, TimeoutError, OSError) as error:
            await self._fail(run_id, step, error)

    async def _next(self, run_id: str) -> int | None:
        """Return the next step of a run to film; None if another run waits, or none comes."""
        while True:
            if waiting := await asyncio.to_thread(self._files(run_id).waiting):
                return waiting[0]
            self._waiting.pop(run_id, None)
            if self._waiting:
                return None
            self._news.clear()
            try:
                async with asyncio.timeout(_LINGER_S):
                    await self._news.wait()
            except TimeoutError:
                return None
            if run_id not in self._waiting:
                return None

    async def _film(self, job: Job, run_id: str, step: int) -> None:
        files = self._files(run_id)
        policy = await asyncio.to_thread(files.policy, step)
        if policy is None:
            return
        job.worker.send(policy)
        async with asyncio.timeout(_PER_CLIP_S):
            filmed, score = await _receive_clip(job)
        video = filmed.video
        if video is None:
            raise ProtocolError("there was no picture")
        clip = Clip(
            timesteps=step,
            score=score,
            size=video.size,
            width=video.width,
            height=video.height,
            fps=video.fps,
            seconds=video.seconds,
            created_at=datetime.now(UTC),
        )
        facts = asdict(clip)
        if await asyncio.to_thread(files.save, step, filmed.content, facts, policy=policy):
            self.changed.emit(run_id)

    async def _fail(self, run_id: str, step: int | None, error: Exception) -> None:
        """Leave a moment out; after a few failures there are no more clips of the run."""
        _log.warning("A clip of run %s was not made: %r", run_id, error)
        if step is None:
            await asyncio.sleep(_RETRY_AFTER_S)
            return
        self._failures[run_id] += 1
        files = self._files(run_id)
        is_last = self._failures[run_id] >= _MOST_FAILURES
        left_out = await asyncio.to_thread(files.waiting) if is_last else [step]
        for one in left_out:
            await asyncio.to_thread(files.remove, one)
        if is_last:
            reason = str(error) or "it took too long"
            message = f"The time machine can't film this run: {reason}."
            await self._journal.tell(run_id, "clips_failed", message)


async def _receive_clip(job: Job) -> tuple[Filmed, float | None]:
    filmed = Filmed()
    while True:
        match received := await job.next():
            case messages.Filmed() if received.fps > 0:
                filmed.said = received
            case Piece():
                filmed.take(received)
                if len(filmed.content) > _LARGEST_CLIP:
                    raise ProtocolError(f"a clip of more than {_LARGEST_CLIP >> 20} MB")
            case messages.Clipped():
                return filmed, received.score
            case _:
                raise ProtocolError(f"{type(received).__name__} instead of a clip")


def _command(config: RunConfig) -> commands.Clip:
    return commands.Clip(setup=config.setup(), seed=SEED, seconds=CLIP_SECONDS)
