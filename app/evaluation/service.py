"""Evaluate and record the policies of runs on demand: limits, order of execution and results."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from weakref import WeakValueDictionary

from app.catalog.algorithms import get_algorithm
from app.evaluation.evaluation import (
    Evaluation,
    EvaluationRequest,
    EvaluationStatus,
    begin_evaluation,
    begin_evolution,
    begin_recording,
    summarise,
)
from app.evaluation.evolution_videos import (
    MIN_CLIPS,
    evolution_command,
    pack_clips,
    receive_evolution,
)
from app.evaluation.live_frames import show_live
from app.evaluation.store import ActiveEvaluation, EvaluationStore
from app.protocol import SeedFamily, commands, messages
from app.run_config import RunConfig, config_of, readable_config
from app.runs import RunService, check_has_policy, load_policy
from app.runs.execution import Clip, TimeMachine
from app.workers import EpisodePlayer, WorkerPool
from storage import LabError, NotWrittenError, RunNotFoundError, WrongStateError
from storage.records import ChangeableRun, EventLevel, RunRecord, RunStatus, VisibleRun

MAX_ACTIVE_PER_RUN = 5
MAX_ACTIVE = 20

_ANNOUNCE_EVERY_S = 0.25
_NO_RENDERING = "This environment has no rendering, so there is no video."

OnProgress = Callable[[int], None]
"""Receives the number of finished episodes."""


class EvaluationError(Exception):
    """An evaluation failed."""


class TooManyEvaluationsError(LabError):
    """The limit of running and queued evaluations is reached."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"
    retry_after_s = 10
    """Typical duration of an evaluation."""

    def __init__(self, where: str, limit: int) -> None:
        super().__init__(
            f"{limit} evaluations {where} are running or queued. Try again when one is done."
        )


class Evaluations:
    """Evaluates the policies of runs in workers, and queues the jobs until a side slot is free.

    Evaluations of one run execute one at a time; all evaluations and evolution videos need a side
    slot. A recording needs none: it records the live view, which has one.
    """

    def __init__(
        self,
        runs: RunService,
        time_machine: TimeMachine,
        pool: WorkerPool,
        store: EvaluationStore,
    ) -> None:
        self.changed = store.changed
        self.clips_changed = time_machine.changed
        self.video = store.video
        self.replay = store.replay
        self.store = store
        """Evaluations by run id, unchecked: pages, components and routes must not use it."""
        self._machine = time_machine
        self._runs = runs.unchecked
        self._pool = pool
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._announced = 0.0
        runs.run_deleted.subscribe(store.drop_run)
        runs.unchecked.run_ended.subscribe(self._evaluate_at_the_end)

    async def start(
        self,
        run: ChangeableRun,
        request: EvaluationRequest,
        *,
        on_progress: OnProgress = lambda _: None,
    ) -> Evaluation:
        """Queue an evaluation.

        Raises:
            InputError: if the run has no such checkpoint, or the code can't be used.
            WrongStateError: if it has no policy.
            TooManyEvaluationsError: if too many are running or queued already.
            NotWrittenError: if its record can't be stored; then nothing is queued.
        """
        return (await self._start(run, request, on_progress)).evaluation

    async def evaluate(
        self,
        run: ChangeableRun,
        request: EvaluationRequest,
        *,
        on_progress: OnProgress = lambda _: None,
    ) -> Evaluation:
        """Run an evaluation and return its results.

        Raises:
            InputError, WrongStateError, TooManyEvaluationsError, NotWrittenError: as `start`.
            EvaluationError: if it fails.
        """
        active = await self._start(run, request, on_progress)
        await active.over.wait()
        if active.evaluation.status is not EvaluationStatus.COMPLETED:
            raise EvaluationError(f"The evaluation failed: {active.evaluation.error}")
        return active.evaluation

    async def record(self, run: ChangeableRun) -> Evaluation:
        """Record the next complete episode of a run's live view.

        Raises:
            WrongStateError: if the run isn't training, or is being recorded already.
        """
        if run.status is not RunStatus.RUNNING:
            raise WrongStateError(run.id, run.status, "be recorded: it is not training")
        self._check_is_only_one(run, "recording", "be recorded: a recording is running already")
        return (await self.store.begin(begin_recording(run.id), self._record)).evaluation

    async def evolve(self, run: ChangeableRun) -> Evaluation:
        """Queue an evolution video of a run's clips.

        Raises:
            WrongStateError: if there are too few clips, or one is being made already.
            NotWrittenError: if its record can't be stored; then nothing is queued.
        """
        clips = await self._machine.clips(run.id)
        if len(clips) < MIN_CLIPS:
            action = "start an evolution video: it has fewer than two clips yet"
            raise WrongStateError(run.id, run.status, action)
        self._check_is_only_one(
            run, "evolution", "start an evolution video: one is being made already"
        )
        return (
            await self.store.begin(begin_evolution(run.id, len(clips)), self._evolve)
        ).evaluation

    async def cancel(self, run: ChangeableRun, evaluation_id: str) -> Evaluation:
        """Cancel an evaluation or a recording; only its record remains.

        Raises:
            WrongStateError: if it has ended.
        """
        evaluation = await self.store.get(run.id, evaluation_id)
        active = self.store.find(evaluation_id)
        if active is None:
            raise WrongStateError(
                run.id, run.status, f"have {evaluation.kind} {evaluation_id} cancelled: it is over"
            )
        await self.store.end(active, EvaluationStatus.CANCELLED)
        return active.evaluation

    async def pin(self, run: ChangeableRun, evaluation_id: str, *, on: bool) -> Evaluation:
        """Pin a video, or unpin it so that newer ones may replace it."""
        return await self.store.pin(run.id, evaluation_id, on=on)

    async def list(self, run: VisibleRun) -> Sequence[Evaluation]:
        """Return the evaluations and recordings of a run, newest first."""
        return await self.store.list(run.id)

    async def get(self, run: VisibleRun, evaluation_id: str) -> Evaluation:
        """Return one evaluation of a run.

        Raises:
            EvaluationNotFoundError: if there is none of this id.
        """
        return await self.store.get(run.id, evaluation_id)

    async def clips(self, run: VisibleRun) -> Sequence[Clip]:
        """Return the clips of a run's time machine, earliest first."""
        return await self._machine.clips(run.id)

    def clip_file(self, run: VisibleRun, clip: Clip) -> Path:
        """Return the path of a clip's video."""
        return self._machine.path(run.id, clip)

    async def _start(
        self, run: ChangeableRun, request: EvaluationRequest, on_progress: OnProgress
    ) -> ActiveEvaluation:
        await asyncio.to_thread(request.check_code)
        await check_has_policy(self._runs, run, request.checkpoint)
        self._check_limits(run.id)
        if not get_algorithm(run.algorithm).samples_actions:
            request = replace(request, deterministic=True)
        work = partial(self._evaluate, request=request, on_progress=on_progress)
        return await self.store.begin(begin_evaluation(run.id, request), work)

    async def _evaluate_at_the_end(self, run: RunRecord) -> None:
        """Evaluate the final policy of a complete run, if its configuration asks for it."""
        config = readable_config(run)
        if run.status is not RunStatus.COMPLETED or config is None:
            return
        if (episodes := config.evaluation.final_episodes) == 0:
            return
        request = EvaluationRequest(episodes=episodes, seed_family=SeedFamily.FINAL)
        work = partial(self._evaluate, request=request, on_progress=lambda _: None)
        try:
            await self.store.begin(begin_evaluation(run.id, request), work)
        except RunNotFoundError:
            return
        except NotWrittenError as error:
            text = f"The final evaluation could not be started: {error}"
            await self._runs.add_event(run.id, "evaluation_failed", text, level=EventLevel.WARNING)

    def _check_limits(self, run_id: str) -> None:
        active = [one for one in self.store.active() if one.kind == "evaluation"]
        if sum(one.run_id == run_id for one in active) >= MAX_ACTIVE_PER_RUN:
            raise TooManyEvaluationsError("of this run", MAX_ACTIVE_PER_RUN)
        if len(active) >= MAX_ACTIVE:
            raise TooManyEvaluationsError("in this lab", MAX_ACTIVE)

    def _check_is_only_one(self, run: RunRecord, kind: str, action: str) -> None:
        if any((one.run_id, one.kind) == (run.id, kind) for one in self.store.active()):
            raise WrongStateError(run.id, run.status, action)

    async def _evaluate(
        self, active: ActiveEvaluation, *, request: EvaluationRequest, on_progress: OnProgress
    ) -> None:
        turn = self._turns.setdefault(active.evaluation.run_id, asyncio.Lock())
        async with turn, self._pool.side_slots.priority_slot():
            await self._play(active, request, on_progress)

    async def _play(
        self, active: ActiveEvaluation, request: EvaluationRequest, on_progress: OnProgress
    ) -> None:
        run = await self._runs.get(active.evaluation.run_id)
        config = config_of(run)
        feed = await self._runs.feed(run.id)
        policy = await load_policy(self._runs, run, request.checkpoint)
        command = _command(request, config)
        async with self._pool.job(command, low_priority=True) as job:
            await self._begin(active, policy.timesteps, request, config.wrappers.disturbances)
            player = EpisodePlayer(
                job,
                command,
                on_frame=feed.frames.publish,
                on_episode=partial(self._progress, active, on_progress),
            )
            async with show_live(feed.frames, player) if command.renders else nullcontext():
                found, recorded = await player.play(
                    policy.frame, episodes=request.episodes, seed=request.first_seed
                )
        summary = await asyncio.to_thread(summarise, active.evaluation, found)
        if request.record and not config.environment.renders:
            summary = replace(summary, video_note=_NO_RENDERING)
        save_score = partial(self._save_score, summary) if summary.is_final else None
        await self.store.complete(active, summary, recorded, before_end=save_score)

    async def _save_score(self, found: Evaluation) -> None:
        """Make a final evaluation the score of its run, if it is of the final policy.

        One with fewer episodes than an earlier one doesn't replace it: nobody can choose the number
        that gives the highest mean.
        """
        run = await self._runs.get(found.run_id)
        step, mean = found.timesteps, found.mean_return
        if not run.status.is_over or step != run.progress.timesteps:
            return
        others = [one for one in await self.store.list(run.id) if one.is_final]
        if any(one.timesteps == step and one.episodes > found.episodes for one in others):
            return
        assert step is not None
        assert mean is not None
        try:
            await self._runs.save_final_evaluation(run.id, mean, step)
        except NotWrittenError as error:
            text = f"The score could not be stored: {error} Start the final evaluation again."
            await self._runs.add_event(run.id, "evaluation_failed", text, level=EventLevel.WARNING)

    async def _begin(
        self,
        active: ActiveEvaluation,
        timesteps: int | None,
        request: EvaluationRequest,
        disturbances: tuple[str, ...],
    ) -> None:
        await self.store.change(
            active,
            status=EvaluationStatus.RUNNING,
            started_at=datetime.now(UTC),
            timesteps=timesteps,
            left_out=() if request.disturbances else disturbances,
            disturbances=disturbances if request.disturbances else (),
        )
        count = active.evaluation.episodes
        text = f"Evaluation started: {count} {'episode' if count == 1 else 'episodes'}."
        await self._runs.add_event(active.evaluation.run_id, "evaluation_started", text)

    def _progress(
        self, active: ActiveEvaluation, on_progress: OnProgress, played: messages.Played
    ) -> None:
        before = active.evaluation
        active.evaluation = replace(
            before,
            played=played.episodes,
            returns=(*before.returns, played.returned),
            lengths=(*before.lengths, played.length),
        )
        on_progress(played.episodes)
        if time.monotonic() - self._announced > _ANNOUNCE_EVERY_S:
            self._announced = time.monotonic()
            self.store.changed.emit(before.run_id)

    async def _record(self, active: ActiveEvaluation) -> None:
        run_id = active.evaluation.run_id
        await self._runs.add_event(run_id, "recording_started", "Recording the next episode.")
        recorded = await self._runs.record_video(run_id)
        assert recorded.played is not None
        found = messages.Evaluated(
            timesteps=0,
            returns=(recorded.played.returned,),
            lengths=(recorded.played.length,),
            truncated=0,
        )
        summary = replace(summarise(active.evaluation, found), terminations=None)
        await self.store.complete(active, summary, recorded)

    async def _evolve(self, active: ActiveEvaluation) -> None:
        run_id = active.evaluation.run_id
        async with self._pool.side_slots.priority_slot():
            clips = await self._machine.clips(run_id)
            paths = [self._machine.path(run_id, clip) for clip in clips]
            file = await asyncio.to_thread(pack_clips, paths)
            await self.store.change(
                active,
                status=EvaluationStatus.RUNNING,
                started_at=datetime.now(UTC),
                episodes=len(clips),
            )
            async with self._pool.job(
                evolution_command(clips), file=file, low_priority=True
            ) as job:
                recorded = await receive_evolution(job)
            step = clips[-1].timesteps
            summary = replace(active.evaluation, played=len(clips), timesteps=step)
            await self.store.complete(active, summary, recorded)


def _command(request: EvaluationRequest, config: RunConfig) -> commands.Evaluate:
    # Without a video it isn't shown live, either: then it takes a fraction of the time.
    renders = config.environment.renders and request.record
    # A custom reward runs in the worker to show its terms, where it could change a score.
    is_score = SeedFamily.of(request.first_seed) is SeedFamily.FINAL
    return commands.Evaluate(
        setup=config.setup(),
        deterministic=request.deterministic,
        disturbed=request.disturbances,
        reports_each=True,
        renders=renders,
        records_video=renders,
        reward=None if is_score else config.reward,
        code=request.code,
    )
