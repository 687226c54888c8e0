"""Judge a run's policy on demand: play whole episodes in a worker and keep what they say."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus

from app.evaluation.episode_player import EpisodePlayer
from app.evaluation.evaluation import (
    Evaluation,
    EvaluationOptions,
    EvaluationStatus,
    begin_evaluation,
    begin_recording,
    summarise,
)
from app.evaluation.evolution_videos import Evolutions
from app.evaluation.failure import fail
from app.evaluation.register import EvaluationRegister, UnderWay
from app.protocol import commands, messages
from app.run_config.config import RunConfig
from app.runs.policies import check_has_policy, take_policy
from app.runs.service import RunService
from app.workers.pool import WorkerPool
from storage.errors import LabError, WrongStateError
from storage.records.runs import RunStatus

MOST_WAITING_PER_RUN = 5
MOST_WAITING = 20

_ANNOUNCE_EVERY_S = 0.25
_NOT_DRAWN = "This environment draws no pictures, so there is no video."

_Told = Callable[[int], None]


class EvaluationError(Exception):
    """An evaluation could not be brought to its end."""


class TooManyEvaluationsError(LabError):
    """As many evaluations wait as may wait."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"
    retry_after_s = 10
    """About so long an evaluation takes."""

    def __init__(self, where: str, most: int) -> None:
        super().__init__(
            f"{most} evaluations {where} are under way or wait. Try again when one is over."
        )


class Evaluations:
    """Plays the policies of runs in workers, one evaluation of a run after the other."""

    def __init__(self, trainer: RunService, pool: WorkerPool, register: EvaluationRegister) -> None:
        self.register = register
        self._trainer = trainer
        self._pool = pool
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._announced = 0.0
        self.time_machine = trainer.time_machine
        self.evolutions = Evolutions(trainer, pool, register)
        trainer.run_deleted.subscribe(register.forget_run)

    async def start(
        self, run_id: str, judging: EvaluationOptions, *, told: _Told = lambda _: None
    ) -> Evaluation:
        """Let an evaluation wait for its turn; `told` hears how many episodes are over.

        Raises:
            InputError: if the run has no such checkpoint, or code can't be used.
            WrongStateError: if it has no policy.
            TooManyEvaluationsError: if too many wait already.
            NotWrittenError: if it can't be written down; then nothing waits.
        """
        return (await self._start(run_id, judging, told)).evaluation

    async def evaluate(
        self, run_id: str, judging: EvaluationOptions, *, told: _Told = lambda _: None
    ) -> Evaluation:
        """Play whole episodes now and return what they say.

        Raises:
            InputError, WrongStateError, TooManyEvaluationsError, NotWrittenError: as `start`.
            EvaluationError: if they could not be played to the end.
        """
        known = await self._start(run_id, judging, told)
        await known.over.wait()
        if known.evaluation.status is not EvaluationStatus.COMPLETED:
            raise EvaluationError(f"The evaluation failed: {known.evaluation.error}")
        return known.evaluation

    async def record(self, run_id: str) -> Evaluation:
        """Film the next whole episode of a run's live view.

        Raises:
            WrongStateError: if the run doesn't train, or is being recorded already.
        """
        run = await self._trainer.get(run_id)
        if run.status is not RunStatus.RUNNING:
            raise WrongStateError(run.id, run.status, "be recorded: nothing of it is live")
        recordings = [one for one in self.register.under_way() if one.kind == "recording"]
        if any(one.run_id == run_id for one in recordings):
            raise WrongStateError(run.id, run.status, "be recorded twice at once")
        known = await self.register.begin(begin_recording(run_id), self._record)
        return known.evaluation

    async def cancel(self, run_id: str, evaluation_id: str) -> Evaluation:
        """End an evaluation or a recording; nothing but its record stays.

        Raises:
            WrongStateError: if it is over.
        """
        evaluation = await self.register.get(run_id, evaluation_id)
        known = self.register.find(evaluation_id)
        if known is None:
            run = await self._trainer.get(run_id)
            raise WrongStateError(
                run.id, run.status, f"have {evaluation.kind} {evaluation_id} cancelled: it is over"
            )

        async def tell(ended: Evaluation) -> None:
            text = f"{ended.kind.capitalize()} cancelled."
            await self._trainer.tell(run_id, f"{ended.kind}_cancelled", text)

        await self.register.end(known, EvaluationStatus.CANCELLED, None, tell)
        return known.evaluation

    async def _start(self, run_id: str, judging: EvaluationOptions, told: _Told) -> UnderWay:
        run = await self._trainer.get(run_id)
        await asyncio.to_thread(judging.check_code)
        await check_has_policy(self._trainer, run, judging.checkpoint)
        self._check_room(run_id)
        follow = partial(self._follow, judging=judging, told=told)
        return await self.register.begin(begin_evaluation(run_id, judging), follow)

    def _check_room(self, run_id: str) -> None:
        waiting = [one for one in self.register.under_way() if one.kind == "evaluation"]
        if sum(one.run_id == run_id for one in waiting) >= MOST_WAITING_PER_RUN:
            raise TooManyEvaluationsError("of this run", MOST_WAITING_PER_RUN)
        if len(waiting) >= MOST_WAITING:
            raise TooManyEvaluationsError("in this lab", MOST_WAITING)

    async def _follow(self, known: UnderWay, *, judging: EvaluationOptions, told: _Told) -> None:
        """Bring an evaluation to its end, whatever that is."""
        try:
            async with self._turns[known.evaluation.run_id], self._pool.side_slots.for_a_test():
                await self._play(known, judging, told)
        except Exception as error:  # noqa: BLE001 - it always ends with a reason
            await fail(self._trainer, self.register, known, error)

    async def _play(self, known: UnderWay, judging: EvaluationOptions, told: _Told) -> None:
        run = await self._trainer.get(known.evaluation.run_id)
        config = RunConfig.model_validate(run.config)
        feed = await self._trainer.feed(run.id)
        policy = await take_policy(self._trainer, run, judging.checkpoint)
        command = _command(judging, config)
        async with self._pool.job(command, patient=True) as job:
            await self._begin(known, policy.timesteps, config.wrappers.disturbances)
            player = EpisodePlayer(job, feed.frames, partial(self._progress, known, told))
            said = await player.run(command, policy.frame)
        summary = await asyncio.to_thread(summarise, known.evaluation, said)
        if judging.record and not config.environment.renders:
            summary = replace(summary, video_note=_NOT_DRAWN)
        await self.register.complete(known, summary, player.filmed, self._tell_completed)

    async def _tell_completed(self, found: Evaluation) -> None:
        data = {"evaluation": found.id, "mean_return": found.mean_return}
        text = f"Evaluation complete: {_in_words(found)}."
        await self._trainer.tell(found.run_id, "evaluation_completed", text, data=data)

    async def _begin(
        self, known: UnderWay, timesteps: int | None, left_out: tuple[str, ...]
    ) -> None:
        await self.register.change(
            known,
            status=EvaluationStatus.RUNNING,
            started_at=datetime.now(UTC),
            timesteps=timesteps,
            left_out=left_out,
        )
        count = known.evaluation.episodes
        text = f"Evaluation started: {count} {'episode' if count == 1 else 'episodes'}."
        await self._trainer.tell(known.evaluation.run_id, "evaluation_started", text)

    def _progress(self, known: UnderWay, told: _Told, said: messages.Played) -> None:
        before = known.evaluation
        known.evaluation = replace(
            before,
            played=said.episodes,
            returns=(*before.returns, said.returned),
            lengths=(*before.lengths, said.length),
        )
        told(said.episodes)
        if time.monotonic() - self._announced > _ANNOUNCE_EVERY_S:
            self._announced = time.monotonic()
            self.register.changed.emit(before.run_id)

    async def _record(self, known: UnderWay) -> None:
        run_id = known.evaluation.run_id
        await self._trainer.tell(run_id, "recording_started", "Recording the next episode.")
        try:
            filmed = await self._trainer.film(run_id)
            assert filmed.played is not None
            played = filmed.played
            said = messages.Evaluated(
                timesteps=0, returns=(played.returned,), lengths=(played.length,), truncated=0
            )
            summary = replace(summarise(known.evaluation, said), terminations=None)
            await self.register.complete(known, summary, filmed, self._tell_recorded)
        except Exception as error:  # noqa: BLE001 - it always ends with a reason
            await fail(self._trainer, self.register, known, error)

    async def _tell_recorded(self, found: Evaluation) -> None:
        text = f"Recorded an episode: reward {found.mean_return:,.1f}."
        await self._trainer.tell(found.run_id, "recording_completed", text)


def _command(judging: EvaluationOptions, config: RunConfig) -> commands.Evaluate:
    renders = config.environment.renders
    return commands.Evaluate(
        setup=config.setup(),
        episodes=judging.episodes,
        seed=judging.seed,
        deterministic=judging.deterministic,
        tells_each=True,
        drawn=renders,
        films=renders and judging.record,
        reward=config.reward,
        code=judging.code,
    )


def _in_words(evaluation: Evaluation) -> str:
    mean = f"mean {evaluation.mean_return:,.1f}"
    if evaluation.ci95 is None:
        return mean
    low, high = evaluation.ci95
    return f"{mean} (95 % interval {low:,.1f} to {high:,.1f}) in {evaluation.episodes} episodes"
