"""Follow one run from its first message to its last, and say why it ended."""

import asyncio
import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from app.core.storage_thread import StorageThread
from app.core.tasks import Tasks
from app.protocol import commands, messages
from app.run_config.config import RunConfig
from app.runs.execution.change_requests import ChangeRequests
from app.runs.execution.deliveries import Deliveries
from app.runs.execution.live_view import LiveView
from app.runs.execution.moments import Moments
from app.runs.execution.periodic_evaluation import PeriodicEvaluation
from app.runs.execution.time_machine import TimeMachine
from app.runs.execution.weight_requests import WeightRequests
from app.runs.state import endings
from app.runs.state.endings import STOP_WITHIN_S, Ending, StopWish
from app.runs.state.feed import RunFeed
from app.workers.errors import Exit, NoWorkerError, ProtocolError, WorkerGoneError
from app.workers.local_worker import HandedOut, LocalWorker, Piece, Received
from app.workers.pool import WorkerPool
from app.workers.side_slots import SideSlots
from app.workers.video import Filmed
from storage.database import runs
from storage.errors import NotWrittenError
from storage.files.atomic import write_atomically
from storage.files.checkpoint_files import CheckpointFile
from storage.files.run_folder import RunFolder
from storage.metrics.metrics import MetricsWriter
from storage.records.runs import JsonObject, Progress

_SOLVED_OVER = 100
_MOST_NOTES = 100
_SAVE_EVERY_S = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a supervisor shares with all the others."""

    pool: WorkerPool
    storage: StorageThread
    disk: StorageThread
    """Threads of their own for what runs write, so that no reader can keep them waiting."""
    viewer_slots: SideSlots
    silence_s: float
    keep_checkpoints: int
    time_machine: TimeMachine


class Listener(Protocol):
    """Who hears of a run's turns, each of which belongs into the database and the log."""

    async def started(self, said: messages.Started) -> None:
        """Training began, or went on from a checkpoint."""

    async def paused(self, *, on: bool) -> None:
        """Training waits, or goes on again."""

    async def changed(self, timesteps: int, change: messages.Change) -> None:
        """Training goes on with other values."""

    async def noted(self, said: messages.Noted) -> None:
        """The worker has something to tell a person."""

    async def solved(self, timesteps: int, mean_reward: float) -> None:
        """The mean over 100 episodes reached the threshold for the first time."""


class Supervisor:
    """Owns the worker of one run: starts it, believes it, watches it, ends it."""

    def __init__(
        self,
        feed: RunFeed,
        folder: RunFolder,
        config: RunConfig,
        around: Surroundings,
        *,
        checkpoint: CheckpointFile | None,
        listener: Listener,
    ) -> None:
        self._feed = feed
        self._folder = folder
        self._config = config
        self._around = around
        self._disk = around.disk
        self._checkpoint = checkpoint
        self._listener = listener
        self._is_saving = False
        self._tasks = Tasks()
        self._threshold = config.environment.solved_threshold
        self._wish: StopWish | None = None
        self._stop_asked = asyncio.Event()
        self._weights = WeightRequests()
        self._moments = Moments(
            feed,
            around.time_machine,
            self._weights.ask,
            renders=config.environment.renders,
        )
        self._deliveries = Deliveries(
            feed,
            folder,
            around.disk,
            keep_checkpoints=around.keep_checkpoints,
            on_checkpoint=self._moments.keep,
        )
        self._deliveries.resumable_step = checkpoint.timesteps if checkpoint else None
        self._changes = ChangeRequests()
        self._notes = 0
        self._traceback = ""
        self._worker: LocalWorker | None = None
        self._writer: MetricsWriter | None = None
        self._live: LiveView | None = None
        self._beside: PeriodicEvaluation | None = None
        self._saved = time.monotonic()

    @property
    def owner(self) -> str | None:
        """Whose run it is."""
        return self._feed.run.owner

    def stop(self, wish: StopWish) -> None:
        """Ask the run to end soon; `follow` tells when it has."""
        if self._wish is not None:
            return
        self._wish = wish
        self._stop_asked.set()
        if self._worker is not None:
            self._worker.stop()
            self._tasks.start(self._insist(), name="insist on the stop")

    def pause(self, *, on: bool) -> None:
        """Ask the run to wait, or to go on; `listener.paused` tells when it does."""
        if self._worker is not None:
            self._worker.send(messages.encode(commands.Pause(on=on)))
            if not on:
                # From now on silence counts again.
                self._worker.expect(within_s=self._around.silence_s)

    async def change(self, change: messages.Change) -> None:
        """Ask the run to go on with other values, and return once it does.

        Raises:
            WorkerGoneError: if it ends first.
        """
        await self._changes.ask(change)

    async def newest_policy(self) -> HandedOut:
        """Return the policy as the worker has it now.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        return await self._weights.ask()

    async def film(self) -> Filmed:
        """Return a film of the next whole episode of the live view.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        if self._live is None:
            raise WorkerGoneError
        return await self._live.film()

    async def follow(self) -> Ending:
        """Train until the end, whatever it is, and return it; nothing is left running."""
        try:
            worker = await self._take_worker()
        except NoWorkerError as error:
            _log.exception("No worker for run %s", self._feed.run.id)
            await self._tasks.cancel()
            return endings.failed(f"The worker could not be started: {error}.")
        if worker is None:
            await self._tasks.cancel()
            return endings.not_begun(self._wish)
        try:
            self._writer = await asyncio.to_thread(MetricsWriter, self._folder.metrics)
            return await self._supervise(worker)
        except OSError as error:
            return endings.no_disk(error)
        finally:
            await self._clean_up(worker)

    async def _take_worker(self) -> LocalWorker | None:
        """Return a worker, or None if the run is stopped before there is one."""
        taking = self._tasks.start(self._around.pool.start(), name="take a worker")
        stopping = self._tasks.start(self._stop_asked.wait(), name="wait for a stop")
        await asyncio.wait({taking, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if taking.done():
            taken: LocalWorker = taking.result()
            return taken
        taking.cancel()
        return None

    async def _supervise(self, worker: LocalWorker) -> Ending:
        worker.expect(within_s=self._around.silence_s)
        try:
            await self._hand_over_job(worker)
        except ConnectionError:
            return self._lost(await worker.how_it_ended())
        self._begin(worker)
        ending = None
        while ending is None:
            try:
                if not isinstance(said := await worker.receive(), messages.Alive):
                    ending = await self._hear(said)
            except WorkerGoneError as error:
                ending = self._lost(error.exit)
            except ProtocolError as error:
                ending = endings.failed(f"The worker broke the protocol: {error}.")
        return ending

    def _begin(self, worker: LocalWorker) -> None:
        """Let others have a part in the training, now that the worker has its job."""
        self._worker = worker
        self._changes.begin(worker)
        self._weights.begin(worker)
        pool = self._around.pool
        self._live = LiveView(
            self._feed,
            self._config,
            pool,
            slots=self._around.viewer_slots,
            trainer=worker,
            silence_s=self._around.silence_s,
        )
        self._beside = PeriodicEvaluation(self._config, pool, self._listener, trainer=worker)
        if self._wish is not None:
            worker.stop()
            self._tasks.start(self._insist(), name="insist on the stop")

    def _lost(self, how: Exit) -> Ending:
        return endings.lost(how, self._wish, self._deliveries.resumable_step)

    async def _hand_over_job(self, worker: LocalWorker) -> None:
        path, job = self._folder.beginning, self._config.job()
        if self._checkpoint is not None:
            path = self._checkpoint.path
            changes = self._config.all_changes()
            job = msgspec.structs.replace(job, resume=True, changes=changes)
        elif self._config.init_from is not None:
            job = msgspec.structs.replace(job, transfer=True)
        worker.send(messages.encode(job))
        if job.has_file:
            await worker.send_file("checkpoint.zip", await asyncio.to_thread(path.read_bytes))

    async def _hear(self, said: Received) -> Ending | None:
        match said:
            case messages.Started() | messages.Paused() | messages.Changed() | messages.Noted():
                await self._turn(said)
            case messages.Progressed():
                await self._progress(said)
            case messages.Measured(lines=lines):
                await self._measure(lines)
            case HandedOut():
                self._pass_on(said)
            case Piece():
                assert self._writer is not None
                await self._deliveries.take(said, lines_written=self._writer.count)
            case messages.Finished(reason=reason):
                return self._finish(reason)
            case messages.Failed():
                self._traceback = said.traceback
                return endings.failed(said.reason, said.line)
            case _:
                raise ProtocolError(f"{type(said).__name__} in the middle of training")
        return None

    def _finish(self, reason: str) -> Ending:
        progress = self._feed.run.progress
        if reason == "solved" and progress.solved_at is None:
            progress = replace(progress, solved_at=progress.timesteps)
            self._feed.set_progress(progress)
        step = self._deliveries.resumable_step
        return endings.finished(reason, self._wish, progress, step)

    def _pass_on(self, policy: HandedOut) -> None:
        assert self._live is not None
        assert self._beside is not None
        match policy.header.purpose:
            case "evaluation":
                self._beside.judge(policy)
            case "asked":
                self._weights.answer(policy)
            case _:
                self._live.give_weights(policy.frame)

    async def _turn(
        self, said: messages.Started | messages.Paused | messages.Changed | messages.Noted
    ) -> None:
        match said:
            case messages.Started():
                await self._listener.started(said)
            case messages.Paused(on=on):
                if self._worker is not None:
                    self._worker.expect(within_s=None if on else self._around.silence_s)
                if self._live is not None:
                    self._live.pause(on=on)
                await self._save_progress()
                await self._listener.paused(on=on)
            case messages.Changed():
                await self._take_up_change(said.timesteps)
            case messages.Noted() if self._notes < _MOST_NOTES:
                self._notes += 1
                await self._listener.noted(said)

    async def _take_up_change(self, timesteps: int) -> None:
        change, done = self._changes.take()
        await self._listener.changed(timesteps, change)
        if not done.done():
            done.set_result(None)

    async def _progress(self, said: messages.Progressed) -> None:
        self._feed.set_progress(
            replace(
                self._feed.run.progress,
                timesteps=said.timesteps,
                vec_steps=said.vec_steps,
                updates=said.updates,
                episodes=said.episodes,
                elapsed_s=said.elapsed_s,
            )
        )
        self._feed.set_speed(said.fps)
        self._moments.progressed(said.timesteps)
        if time.monotonic() - self._saved >= _SAVE_EVERY_S and not self._is_saving:
            # Beside the rest: if the database is locked, metrics go on all the same.
            self._tasks.start(self._save_progress(), name=f"save {self._feed.run.id}")

    async def _measure(self, lines: tuple[messages.Line, ...]) -> None:
        assert self._writer is not None
        # On disk first, on screen second: nothing that was shown can get lost.
        written = await self._disk(self._writer.append, [line.flat() for line in lines])
        self._feed.add_lines(written)
        before = self._feed.run.progress
        after = judge(before, written, self._threshold)
        if after != before:
            self._feed.set_progress(after)
        if before.solved_at is None and after.solved_at is not None and after.best is not None:
            await self._listener.solved(after.solved_at, after.best)

    async def _insist(self) -> None:
        """End a worker that doesn't stop when asked."""
        await asyncio.sleep(STOP_WITHIN_S)
        if self._worker is not None:
            self._worker.kill()

    async def _save_progress(self) -> None:
        self._saved, self._is_saving = time.monotonic(), True
        run = self._feed.run
        try:
            await self._around.storage(
                runs.save_progress, run.id, run.progress, self._feed.latest, run.sketch
            )
        except NotWrittenError as error:
            # The next save brings the same and more; the last one is made with the ending.
            _log.warning("The progress of run %s was not saved: %s", run.id, error)
        finally:
            self._is_saving = False

    async def _clean_up(self, worker: LocalWorker) -> None:
        await self._tasks.cancel()
        self._changes.close()
        self._weights.close()
        for helper in (self._moments, self._live, self._beside):
            if helper is not None:
                await helper.close()
        worker.kill()
        await worker.wait()
        with suppress(OSError):
            if self._writer is not None:
                await asyncio.to_thread(self._writer.close)
            await asyncio.to_thread(self._log_what_was_printed, worker)
            await self._keep_last_frame()

    def _log_what_was_printed(self, worker: LocalWorker) -> None:
        if text := worker.printed + self._traceback:
            with self._folder.worker_log.open("a") as file:
                file.write(text)

    async def _keep_last_frame(self) -> None:
        if (frame := self._feed.frames.newest) is not None:
            await asyncio.to_thread(write_atomically, self._folder.last_frame, frame.jpeg)
            header = messages.encode_header(frame.header)
            await asyncio.to_thread(write_atomically, self._folder.last_frame_header, header)


def judge(progress: Progress, lines: Iterable[JsonObject], threshold: float | None) -> Progress:
    """Return `progress` with the best of its kind and the moment of solving that `lines` show."""
    best, solved_at, best_evaluation = progress.best, progress.solved_at, progress.best_evaluation
    for line in lines:
        best_evaluation = larger(best_evaluation, line.get("eval_reward"))
        mean = line.get("mean_reward")
        if mean is None or line["episode"] < _SOLVED_OVER:
            continue
        best = larger(best, mean)
        if solved_at is None and threshold is not None and mean >= threshold:
            solved_at = line["timesteps"]
    return replace(progress, best=best, solved_at=solved_at, best_evaluation=best_evaluation)


def larger(one: float | None, other: float | None) -> float | None:
    """Return the larger of two numbers of which either may not have been measured."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
