"""Evaluations as one visitor may use them: every call checks again whether they may."""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Protocol

from app.accounts.visitors import Visitor
from app.core.events import Event
from app.evaluation.evaluation import Evaluation, EvaluationOptions
from app.evaluation.service import Evaluations
from app.runs.execution.time_machine import Clip
from storage.records.runs import RunRecord


class _Runs(Protocol):
    """Who knows what the visitor may do with a run."""

    visitor: Visitor

    def get(self, run_id: str) -> Awaitable[RunRecord]:
        """Return a run that the visitor may look at."""

    def changeable(self, run_id: str, *, uses_disk: bool = False) -> Awaitable[str]:
        """Return the id of a run that the visitor may change."""

    def check_may_write_code(self, what: str) -> Awaitable[None]:
        """Make sure that the visitor may give code."""

    def code_refusal(self) -> Awaitable[str | None]:
        """Say why the visitor may not give code, None if they may."""


class EvaluationAccess:
    """What `Evaluations` does, for one visitor."""

    def __init__(self, evaluations: Evaluations, runs: _Runs) -> None:
        self._evaluations = evaluations
        self._register = evaluations.register
        self._machine = evaluations.time_machine
        self._runs = runs

    @property
    def changed(self) -> Event[[str]]:
        """Something about the evaluations of a run is new; what, is told to who may look."""
        return self._register.changed

    @property
    def clips_changed(self) -> Event[[str]]:
        """The clips of a run are others; which, is told to who may look."""
        return self._machine.changed

    def may_change(self, run: RunRecord) -> bool:
        """Whether the visitor may start and end evaluations of a run."""
        return self._runs.visitor.changes(run)

    async def code_refusal(self) -> str | None:
        """Say why the visitor may not give evaluation code, None if they may."""
        return await self._runs.code_refusal()

    async def start(self, run_id: str, judging: EvaluationOptions) -> Evaluation:
        """Let an evaluation wait for its turn."""
        if judging.code is not None:
            await self._runs.check_may_write_code("evaluation code")
        run_id = await self._runs.changeable(run_id, uses_disk=judging.record)
        return await self._evaluations.start(run_id, judging)

    async def record(self, run_id: str) -> Evaluation:
        """Film the next whole episode of a run's live view."""
        run_id = await self._runs.changeable(run_id, uses_disk=True)
        return await self._evaluations.record(run_id)

    async def evolve(self, run_id: str) -> Evaluation:
        """String the clips of a run into one video."""
        run_id = await self._runs.changeable(run_id, uses_disk=True)
        return await self._evaluations.evolutions.start(run_id)

    async def clips(self, run_id: str) -> Sequence[Clip]:
        """Return the clips of a run's time machine, earliest first."""
        return await self._machine.clips((await self._runs.get(run_id)).id)

    async def clip(self, run_id: str, timesteps: int) -> tuple[Clip, Path] | None:
        """Return the clip at a step, and where it lies, if there is one."""
        run = await self._runs.get(run_id)
        for found in await self._machine.clips(run.id):
            if found.timesteps == timesteps:
                return found, self._machine.path(run.id, found)
        return None

    async def cancel(self, run_id: str, evaluation_id: str) -> Evaluation:
        """End an evaluation."""
        run_id = await self._runs.changeable(run_id)
        return await self._evaluations.cancel(run_id, evaluation_id)

    async def pin(self, run_id: str, evaluation_id: str, *, on: bool) -> Evaluation:
        """Keep the video of an evaluation for good, or don't."""
        run_id = await self._runs.changeable(run_id)
        return await self._register.pin(run_id, evaluation_id, on=on)

    async def list(self, run_id: str) -> Sequence[Evaluation]:
        """Return the evaluations and recordings of a run, newest first."""
        return await self._register.list((await self._runs.get(run_id)).id)

    async def get(self, run_id: str, evaluation_id: str) -> Evaluation:
        """Return one evaluation of a run."""
        return await self._register.get((await self._runs.get(run_id)).id, evaluation_id)

    async def replay(self, run_id: str, evaluation_id: str) -> tuple[Evaluation, bytes | None]:
        """Return an evaluation, and its steps as packed JSON if it has them."""
        evaluation = await self.get(run_id, evaluation_id)
        return evaluation, await self._register.replay(evaluation)

    async def video(self, run_id: str, evaluation_id: str) -> tuple[Evaluation, Path]:
        """Return an evaluation, and where its video lies if it has one."""
        evaluation = await self.get(run_id, evaluation_id)
        return evaluation, self._register.video(evaluation)
