"""The time machine: short clips of policy snapshots of every run, recorded in idle side slots."""

import asyncio
import logging
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from app.core import StorageThread, Tasks
from app.core.events import Event
from app.protocol import SeedFamily, UserCodeError, commands, messages
from app.run_config import RunConfig, config_of
from app.runs.state import CodeRefusal, Journal
from app.workers import Job, JobError, Piece, ProtocolError, RecordedVideo, WorkerPool
from storage import RunNotFoundError, StorageError
from storage.database import runs
from storage.files import ClipFiles, LabFolder, runs_with_pending_clips

CLIP_SECONDS = 5.0

_LARGEST_CLIP = 4 << 20
_PER_CLIP_S = 300.0
_MAX_FAILURES = 3
_LINGER_S = 40.0
"""How long a worker waits for the next snapshot: checkpoints come every half minute."""
_RETRY_AFTER_S = 30.0

_log = logging.getLogger(__name__)


_SEED = SeedFamily.SELECTION.first_seed
"""The same for every clip of every run; clips show a policy and select none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A few seconds of the policy that a run had at some step."""

    timesteps: int
    score: float | None
    """The return of the episode on the fixed seed; None if it didn't end."""
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
    """Stores policy snapshots of runs and records a clip of each while a side slot is idle."""

    def __init__(
        self,
        journal: Journal,
        folder: LabFolder,
        storage: StorageThread,
        pool: WorkerPool,
        code_refusal: CodeRefusal,
        *,
        clips_kept: int,
    ) -> None:
        self.changed = Event[str]()
        """The clips of the run with this id changed."""
        self.clips_kept = clips_kept
        """Number of clips kept per run, in addition to those of its checkpoints; 0 records none."""
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._pool = pool
        self._code_refusal = code_refusal
        self._waiting: dict[str, None] = {}
        self._snapshot_added = asyncio.Event()
        self._failures: Counter[str] = Counter()
        self._tasks = Tasks()

    async def open(self) -> None:
        """Resume the work of an earlier server."""
        if self.clips_kept:
            pending = await asyncio.to_thread(runs_with_pending_clips, self._folder.path)
            self._waiting |= dict.fromkeys(pending)
            self._tasks.start(self._work(), name="time machine")

    async def close(self) -> None:
        """Cancel the recording; the next start of the server resumes it."""
        await self._tasks.cancel()

    async def add_snapshot(self, run_id: str, timesteps: int, policy: bytes) -> None:
        """Store a policy until its clip is recorded; on a full disk it is dropped."""
        if not self.clips_kept or self._failures[run_id] >= _MAX_FAILURES:
            return
        try:
            await asyncio.to_thread(self._add, run_id, timesteps, policy)
        except OSError as error:
            _log.warning("A policy snapshot of run %s was not saved: %s", run_id, error)
            return
        self._waiting[run_id] = None
        self._snapshot_added.set()

    async def clips(self, run_id: str) -> list[Clip]:
        """Return the clips of a run, earliest first."""
        return await asyncio.to_thread(self._read, run_id)

    def path(self, run_id: str, clip: Clip) -> Path:
        """Return the path of a clip of a run."""
        return self._files(run_id).clip(clip.timesteps)

    def _files(self, run_id: str) -> ClipFiles:
        return ClipFiles(self._folder.run(run_id).clips_path)

    def _add(self, run_id: str, timesteps: int, policy: bytes) -> None:
        files = self._files(run_id)
        files.add(timesteps, policy)
        checkpoints = self._folder.run(run_id).checkpoints
        files.thin_out(self.clips_kept, keep=frozenset(file.timesteps for file in checkpoints))

    def _read(self, run_id: str) -> list[Clip]:
        found = []
        for facts in self._files(run_id).facts():
            try:
                found.append(_FACTS.decode(facts))
            except msgspec.MsgspecError as error:
                _log.warning("A clip of run %s can't be read and is skipped: %s", run_id, error)
        return found

    async def _work(self) -> None:
        while True:
            while self._waiting:
                await self._record(next(iter(self._waiting)))
            self._snapshot_added.clear()
            await self._snapshot_added.wait()

    async def _record(self, run_id: str) -> None:
        """Record clips of a run while a side slot is idle."""
        try:
            run = await self._storage(runs.get_run, run_id)
            command = _command(config_of(run))
        except (RunNotFoundError, ValueError):
            # Deleted, or created by another version of the program.
            self._waiting.pop(run_id, None)
            return
        except StorageError:
            await asyncio.sleep(_RETRY_AFTER_S)
            return
        if await self._code_refusal(run) is not None:
            self._waiting.pop(run_id, None)
            return
        async with self._pool.side_slots.idle_slot():
            slots, recording = self._pool.side_slots, self._record_run(run_id, command)
            recorded = self._tasks.start(recording, name=f"record clips of {run_id}")
            preempted = self._tasks.start(slots.until_preempted(), name="yield the idle slot")
            try:
                await asyncio.wait({recorded, preempted}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (recorded, preempted):
                    task.cancel()
                await asyncio.gather(recorded, preempted, return_exceptions=True)

    async def _record_run(self, run_id: str, command: commands.Clip) -> None:
        step: int | None = None
        try:
            async with self._pool.job(command, low_priority=True) as job:
                while (step := await self._next(run_id)) is not None:
                    await self._record_clip(job, run_id, step)
        except (JobError, UserCodeError, TimeoutError, OSError) as error:
            await self._fail(run_id, step, error)

    async def _next(self, run_id: str) -> int | None:
        """Return the next step of a run to record; None if another run waits or none arrives."""
        while True:
            if waiting := await asyncio.to_thread(self._files(run_id).waiting):
                return waiting[0]
            self._waiting.pop(run_id, None)
            if self._waiting:
                return None
            self._snapshot_added.clear()
            try:
                async with asyncio.timeout(_LINGER_S):
                    await self._snapshot_added.wait()
            except TimeoutError:
                return None
            if run_id not in self._waiting:
                return None

    async def _record_clip(self, job: Job, run_id: str, step: int) -> None:
        files = self._files(run_id)
        policy = await asyncio.to_thread(files.policy, step)
        if policy is None:
            return
        job.worker.send(policy)
        async with asyncio.timeout(_PER_CLIP_S):
            recorded, score = await _receive_clip(job)
        video = recorded.video
        if video is None:
            raise ProtocolError("the clip has no frames")
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
        if await asyncio.to_thread(files.save, step, recorded.content, facts, policy=policy):
            self.changed.emit(run_id)

    async def _fail(self, run_id: str, step: int | None, error: Exception) -> None:
        """Drop a snapshot; after a few failures no more clips of the run are recorded."""
        _log.warning("A clip of run %s was not recorded: %r", run_id, error)
        if step is None:
            await asyncio.sleep(_RETRY_AFTER_S)
            return
        self._failures[run_id] += 1
        files = self._files(run_id)
        is_last = self._failures[run_id] >= _MAX_FAILURES
        dropped = await asyncio.to_thread(files.waiting) if is_last else [step]
        for one in dropped:
            await asyncio.to_thread(files.remove, one)
        if is_last:
            reason = str(error) or "it took too long"
            message = f"The time machine can't record this run: {reason}."
            await self._journal.add_event(run_id, "clips_failed", message)


async def _receive_clip(job: Job) -> tuple[RecordedVideo, float | None]:
    recorded = RecordedVideo()
    while True:
        match received := await job.next():
            case messages.VideoRecorded() if received.fps > 0:
                recorded.header = received
            case Piece():
                recorded.take(received)
                if len(recorded.content) > _LARGEST_CLIP:
                    raise ProtocolError(f"a clip of more than {_LARGEST_CLIP >> 20} MB")
            case messages.ClipRecorded():
                return recorded, received.score
            case _:
                raise ProtocolError(f"{type(received).__name__} instead of a clip")


def _command(config: RunConfig) -> commands.Clip:
    return commands.Clip(setup=config.setup(), seed=_SEED, seconds=CLIP_SECONDS)
