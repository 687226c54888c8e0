"""Supervise the worker of one run from start to end, and return why it ended."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from app.core import StorageThread, Tasks
from app.protocol import commands, messages
from app.run_config import RunConfig
from app.runs.execution.deliveries import Deliveries
from app.runs.execution.live_view import LiveView
from app.runs.execution.periodic_evaluation import PeriodicEvaluation, PeriodicResults
from app.runs.execution.progress_recorder import ProgressRecorder
from app.runs.execution.snapshot_selector import SnapshotSelector
from app.runs.execution.time_machine import TimeMachine
from app.runs.execution.worker_requests import WorkerRequests
from app.runs.state import (
    NOT_CONFIRMED,
    STOP_WITHIN_S,
    Ending,
    RunFeed,
    RunLog,
    StopRequest,
    endings,
)
from app.workers import (
    Exit,
    NoWorkerError,
    PackedPolicy,
    Piece,
    ProtocolError,
    Received,
    RecordedVideo,
    Worker,
    WorkerGoneError,
    WorkerPool,
)
from storage.files import CheckpointFile, RunFolder, write_atomically
from storage.records import SolvedBy

_MAX_NOTES = 100

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingServices:
    """The services that all supervisors share."""

    pool: WorkerPool
    storage: StorageThread
    disk: StorageThread
    """Separate threads for what runs write, so that readers can't delay them."""
    silence_s: float
    keep_checkpoints: int
    time_machine: TimeMachine


class Supervisor:
    """Owns the worker of one run: starts it, handles its messages, ends it."""

    def __init__(
        self,
        feed: RunFeed,
        folder: RunFolder,
        config: RunConfig,
        services: TrainingServices,
        run_log: RunLog,
        *,
        checkpoint: CheckpointFile | None,
    ) -> None:
        self._feed = feed
        self._folder = folder
        self._config = config
        self._services = services
        self._checkpoint = checkpoint
        self._run_log = run_log
        self._tasks = Tasks()
        self._stop_request: StopRequest | None = None
        self._stop_requested = asyncio.Event()
        self._requests = WorkerRequests()
        self._snapshots = SnapshotSelector(
            feed,
            services.time_machine,
            self._requests.policy,
            renders=config.environment.renders,
        )
        self._deliveries = Deliveries(
            feed,
            folder,
            services.disk,
            keep_checkpoints=services.keep_checkpoints,
            on_checkpoint=self._snapshots.keep,
        )
        self._deliveries.resumable_step = checkpoint.timesteps if checkpoint else None
        self._notes = 0
        self._traceback = ""
        self._worker: Worker | None = None
        self._results = PeriodicResults()
        self._recorder = ProgressRecorder(
            feed,
            self._results,
            disk=services.disk,
            storage=services.storage,
        )
        self._live: LiveView | None = None
        self._evaluation: PeriodicEvaluation | None = None

    @property
    def owner(self) -> str | None:
        """The user who owns the run."""
        return self._feed.run.owner

    def stop(self, stop_request: StopRequest) -> None:
        """Request the end of the run; `supervise` returns once it has ended."""
        if self._stop_request is not None:
            return
        self._stop_request = stop_request
        self._stop_requested.set()
        if self._worker is not None:
            self._worker.stop()
            self._tasks.start(self._kill_later(), name="kill after a stop")

    def pause(self, *, on: bool) -> None:
        """Request a pause, or its end; `RunLog.paused` is called once the worker confirms."""
        if self._worker is not None:
            self._worker.send(messages.encode(commands.Pause(on=on)))
            if not on:
                # The silence limit applies again.
                self._worker.expect(within_s=self._services.silence_s)

    async def change(self, change: messages.Change) -> None:
        """Change values of the run, and return once the worker uses them.

        Raises:
            WorkerGoneError: if it ends first.
        """
        await self._requests.change(change)

    async def newest_policy(self) -> PackedPolicy:
        """Return the worker's current policy.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        return await self._requests.policy()

    async def record_video(self) -> RecordedVideo:
        """Return a video of the next complete episode of the live view.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        if self._live is None:
            raise WorkerGoneError
        return await self._live.record_video()

    async def supervise(self) -> Ending:
        """Train until the run ends, and return how it ended; nothing is left running."""
        try:
            worker = await self._start_worker()
        except NoWorkerError as error:
            _log.exception("No worker for run %s", self._feed.run.id)
            await self._tasks.cancel()
            return endings.failed(f"The worker could not be started: {error}.")
        if worker is None:
            await self._tasks.cancel()
            return endings.not_started(self._stop_request)
        try:
            await self._recorder.open(self._folder.metrics)
            return await self._process_messages(worker)
        except OSError as error:
            return endings.disk_error(error)
        finally:
            await self._clean_up(worker)

    async def _start_worker(self) -> Worker | None:
        """Return a worker, or None if the run is stopped before there is one."""
        starting = self._tasks.start(self._services.pool.start(), name="start a worker")
        stopping = self._tasks.start(self._stop_requested.wait(), name="wait for a stop")
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if starting.done():
            worker: Worker = starting.result()
            return worker
        starting.cancel()
        return None

    async def _process_messages(self, worker: Worker) -> Ending:
        worker.expect(within_s=self._services.silence_s)
        try:
            await self._send_job(worker)
        except ConnectionError:
            return self._lost(await worker.exit_info())
        self._begin(worker)
        ending = None
        while ending is None:
            try:
                if not isinstance(message := await worker.receive(), messages.Alive):
                    ending = await self._handle(message)
            except WorkerGoneError as error:
                ending = self._lost(error.exit)
            except ProtocolError as error:
                ending = endings.failed(f"The worker broke the protocol: {error}.")
        return ending

    def _begin(self, worker: Worker) -> None:
        """Start what depends on the trainer, now that the worker has its job."""
        self._worker = worker
        self._requests.begin(worker)
        pool = self._services.pool
        self._live = LiveView(
            self._feed,
            self._config,
            pool,
            trainer=worker,
            silence_s=self._services.silence_s,
        )
        self._evaluation = PeriodicEvaluation(
            self._config,
            pool,
            self._run_log,
            self._results,
            trainer=worker,
            on_solved=self._recorder.note_solved,
            is_solved=self._feed.run.progress.solved_by is SolvedBy.EVALUATIONS,
            failed_confirmations=sum(
                event.event_type == NOT_CONFIRMED for event in self._feed.events
            ),
        )
        if self._stop_request is not None:
            worker.stop()
            self._tasks.start(self._kill_later(), name="kill after a stop")

    def _lost(self, exit: Exit) -> Ending:
        return endings.lost(exit, self._stop_request, self._deliveries.resumable_step)

    async def _send_job(self, worker: Worker) -> None:
        path, job = self._folder.initial_policy, self._config.job()
        if self._checkpoint is not None:
            path = self._checkpoint.path
            changes = self._config.all_changes()
            job = msgspec.structs.replace(job, resume=True, changes=changes)
        elif self._config.init_from is not None:
            job = msgspec.structs.replace(job, transfer=True)
        worker.send(messages.encode(job))
        if job.has_file:
            await worker.send_file("checkpoint.zip", await asyncio.to_thread(path.read_bytes))

    async def _handle(self, message: Received) -> Ending | None:
        match message:
            case messages.Started() | messages.Paused() | messages.Changed() | messages.Noted():
                await self._handle_status(message)
            case messages.Progressed():
                self._recorder.note_progress(message)
                self._snapshots.progressed(message.timesteps)
            case messages.Measured(lines=lines):
                await self._recorder.write_lines(lines)
            case PackedPolicy():
                self._route_policy(message)
            case Piece():
                await self._deliveries.take(message, lines_written=self._recorder.lines_written)
            case messages.Finished(reason=reason):
                return await self._finish(reason)
            case messages.Failed():
                self._traceback = message.traceback
                return endings.failed(message.reason, message.line)
            case _:
                raise ProtocolError(f"{type(message).__name__} in the middle of training")
        return None

    async def _finish(self, reason: str) -> Ending:
        assert self._evaluation is not None
        await self._settle(self._evaluation)
        progress = self._feed.run.progress
        if reason == "solved" and progress.solved_at is None:
            raise ProtocolError("it ended as solved, which no evaluation confirmed")
        step = self._deliveries.resumable_step
        return endings.finished(reason, self._stop_request, progress, step)

    async def _settle(self, evaluation: PeriodicEvaluation) -> None:
        """Wait for the end of a confirmation, unless the run is to stop."""
        settling = self._tasks.start(evaluation.settle(), name="wait for a confirmation")
        stopping = self._tasks.start(self._stop_requested.wait(), name="wait for a stop")
        await asyncio.wait({settling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        settling.cancel()
        stopping.cancel()

    def _route_policy(self, policy: PackedPolicy) -> None:
        assert self._live is not None
        assert self._evaluation is not None
        match policy.header.purpose:
            case "evaluation":
                self._evaluation.evaluate(policy)
            case "asked":
                self._requests.resolve_policy(policy)
            case _:
                self._live.update_weights(policy.frame)

    async def _handle_status(
        self, message: messages.Started | messages.Paused | messages.Changed | messages.Noted
    ) -> None:
        match message:
            case messages.Started():
                await self._run_log.started(message)
            case messages.Paused(on=on):
                if self._worker is not None:
                    self._worker.expect(within_s=None if on else self._services.silence_s)
                if self._live is not None:
                    self._live.pause(on=on)
                await self._recorder.save()
                await self._run_log.paused(on=on)
            case messages.Changed():
                await self._confirm_change(message.timesteps)
            case messages.Noted() if self._notes < _MAX_NOTES:
                self._notes += 1
                await self._run_log.noted(message)

    async def _confirm_change(self, timesteps: int) -> None:
        change, done = self._requests.confirmed_change()
        await self._run_log.changed(timesteps, change)
        if not done.done():
            done.set_result(None)

    async def _kill_later(self) -> None:
        """Kill a worker that doesn't stop in time."""
        await asyncio.sleep(STOP_WITHIN_S)
        if self._worker is not None:
            self._worker.kill()

    async def _clean_up(self, worker: Worker) -> None:
        await self._tasks.cancel()
        self._requests.close()
        for part in (self._snapshots, self._live, self._evaluation):
            if part is not None:
                await part.close()
        worker.kill()
        await worker.wait()
        with suppress(OSError):
            await self._recorder.close()
            await asyncio.to_thread(self._save_output, worker)
            await self._save_last_frame()

    def _save_output(self, worker: Worker) -> None:
        if text := worker.printed + self._traceback:
            with self._folder.worker_log.open("a") as file:
                file.write(text)

    async def _save_last_frame(self) -> None:
        if (frame := self._feed.frames.newest) is not None:
            await asyncio.to_thread(write_atomically, self._folder.last_frame, frame.jpeg)
            header = messages.encode_header(frame.header)
            await asyncio.to_thread(write_atomically, self._folder.last_frame_header, header)
