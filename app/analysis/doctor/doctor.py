"""Examine every run during training and at its end, off the event loop."""

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from app.analysis.doctor.findings import Findings
from app.analysis.doctor.rules import examine
from app.analysis.insights import History, Insight, Severity, Situation
from app.core import StorageThread, Tasks
from app.core.events import Event
from app.run_config import config_of, readable_config
from app.runs.state import Journal
from storage import NotWrittenError, RunNotFoundError
from storage.database import runs
from storage.files import LabFolder, RunFolder
from storage.metrics import LineReader
from storage.records import EventLevel, RunRecord, RunStatus, VisibleRun

_EVERY_S = 4.0
_LINES_AT_ONCE = 2_000
_FINAL_EXAMINATION_S = 5.0
"""How long the end of a run waits for its final examination."""
_LEVELS = {Severity.WARNING: EventLevel.WARNING, Severity.ERROR: EventLevel.ERROR}

_log = logging.getLogger(__name__)


class ObservedRun:
    """A run under examination, with the metrics read so far and its findings."""

    def __init__(self, run: RunRecord, folder: RunFolder, findings: Findings) -> None:
        self.run = run
        """Its newest known record."""
        self.folder = folder
        self.findings = findings
        self.is_over = asyncio.Event()
        self.final_examination: asyncio.Task[None] | None = None
        """Set once the run is over."""
        self._history = History()
        self._reader = LineReader(folder.metrics, after=0)

    def examine(self, seeds: tuple[float, ...]) -> list[Insight]:
        """Read new metrics and return the insights about all of them; blocks."""
        while lines := self._reader.read(_LINES_AT_ONCE):
            self._history.add(msgspec.json.decode(line) for line in lines)
        if not self._history.timesteps:
            return []
        situation = Situation(
            # The current one: values may have been changed during training.
            config_of(self.run),
            self._history,
            status=self.run.status,
            error=self.run.error,
            seeds=seeds,
        )
        return examine(situation)


class Doctor:
    """Examines runs; writes insights to their folders and logs."""

    def __init__(self, journal: Journal, folder: LabFolder, storage: StorageThread) -> None:
        self.changed = Event[[str]]()
        """Emitted when the insights about a run have changed."""
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._observed: dict[str, ObservedRun] = {}
        self._one_at_a_time = asyncio.Semaphore(1)
        self._tasks = Tasks()
        journal.run_changed.subscribe(self._run_changed)
        journal.run_ending.subscribe(self._run_ending)

    async def close(self) -> None:
        """Wait a short time for the final examinations of runs that just ended."""
        for observed in self._observed.values():
            if observed.final_examination is None:
                observed.is_over.set()
        await self._tasks.wait(_FINAL_EXAMINATION_S)
        await self._tasks.cancel()

    async def insights(self, run: VisibleRun) -> Sequence[Insight]:
        """Return the insights about a run, the most important first."""
        observed = self._observed.get(run.id)
        if observed is not None and run.status.is_over:
            await asyncio.shield(self._finish(observed, run))
            return observed.findings.shown
        if observed is not None:
            return observed.findings.shown
        return await self._stored_insights(run)

    async def _stored_insights(self, run: RunRecord) -> Sequence[Insight]:
        """Return the stored insights of a run; examine it now if it never was."""
        findings = await asyncio.to_thread(_load, self._folder.run(run.id))
        if findings is not None and not run.status.is_over:
            findings.forget_after(run.progress.timesteps)
        if findings is not None or not run.status.is_over:
            return findings.shown if findings else []
        observed = await self._open(run)
        if observed is None:
            return []
        await self._examine(observed, is_final=True, announces=False)
        return observed.findings.shown

    def _run_changed(self, run: RunRecord) -> None:
        observed = self._observed.get(run.id)
        if observed is not None:
            observed.run = run
            if run.status.is_over:
                self._finish(observed, run)
        elif run.status is RunStatus.RUNNING:
            self._tasks.start(self._follow(run), name=f"examine {run.id}")

    async def _run_ending(self, run: RunRecord) -> None:
        """Examine the run a last time, so that its log has the insights before its end."""
        if (observed := self._observed.get(run.id)) is not None:
            await asyncio.wait({self._finish(observed, run)}, timeout=_FINAL_EXAMINATION_S)

    async def _follow(self, run: RunRecord) -> None:
        observed = await self._open(run)
        if observed is None or run.id in self._observed:
            return
        self._observed[run.id] = observed
        await self._discard_undone_findings(observed)
        await self._check_for_early_end(observed)
        while not observed.is_over.is_set():
            try:
                async with asyncio.timeout(_EVERY_S):
                    await observed.is_over.wait()
            except TimeoutError:
                if observed.run.status is RunStatus.RUNNING:
                    await self._examine(observed, is_final=False)

    async def _discard_undone_findings(self, observed: ObservedRun) -> None:
        """Discard findings of steps that a resume from an earlier checkpoint has undone."""
        if observed.findings.forget_after(observed.run.progress.timesteps):
            await self._store(observed)
            self.changed.emit(observed.run.id)

    async def _check_for_early_end(self, observed: ObservedRun) -> None:
        """Finish if the run ended while its folder was being read."""
        try:
            run = await self._storage(runs.get_run, observed.run.id)
        except (RunNotFoundError, NotWrittenError):
            return
        if run.status.is_over:
            self._finish(observed, run)

    async def _open(self, run: RunRecord) -> ObservedRun | None:
        folder = self._folder.run(run.id)
        findings = await asyncio.to_thread(_load, folder)
        if readable_config(run) is None:
            _log.warning("Run %s can't be examined: its configuration is not understood", run.id)
            return None
        return ObservedRun(run, folder, findings or Findings())

    def _finish(self, observed: ObservedRun, run: RunRecord) -> asyncio.Task[None]:
        """Examine a run that is over a last time, once."""
        if observed.final_examination is None:
            observed.run = run
            observed.is_over.set()
            observed.final_examination = self._tasks.start(
                self._examine_last(observed), name=f"finish {run.id}"
            )
        return observed.final_examination

    async def _examine_last(self, observed: ObservedRun) -> None:
        try:
            await self._examine(observed, is_final=True)
        finally:
            self._observed.pop(observed.run.id, None)
            if observed.run.status.has_worker:
                # It was resumed in the meantime.
                self._tasks.start(self._follow(observed.run), name=f"examine {observed.run.id}")
        if observed.run.group_id is not None:
            self._tasks.start(self._examine_group(observed.run), name=f"group of {observed.run.id}")

    async def _examine_group(self, run: RunRecord) -> None:
        """Examine the other ended runs of the group again, now that one more has ended."""
        for member in await self._members(run):
            if member.id != run.id and member.status.is_over:
                other = await self._open(member)
                if other is not None:
                    await self._examine(other, is_final=True)

    async def _examine(
        self, observed: ObservedRun, *, is_final: bool, announces: bool = True
    ) -> None:
        """Examine a run, store the findings, and log the new ones."""
        run_id = observed.run.id
        scores = _scores(await self._members(observed.run))
        async with self._one_at_a_time:
            found = await asyncio.to_thread(observed.examine, scores)
            shown_before = observed.findings.shown
            new = observed.findings.update(found, is_final=is_final)
            if observed.findings.shown == shown_before and not is_final:
                return
            if not await self._store(observed):
                return
        for insight in new if announces else ():
            level = _LEVELS.get(insight.severity, EventLevel.INFO)
            data = {"code": insight.code, "timesteps": insight.at}
            await self._journal.add_event(
                run_id, "insight", f"{insight.title}.", level=level, data=data
            )
        self.changed.emit(run_id)

    async def _store(self, observed: ObservedRun) -> bool:
        """Store the findings; return whether the run still exists."""
        try:
            await self._storage(runs.get_run, observed.run.id)
            await asyncio.to_thread(observed.folder.save_insights, observed.findings.to_stored())
        except RunNotFoundError:
            return False
        except (OSError, NotWrittenError) as error:
            _log.warning("The findings about run %s were not stored: %s", observed.run.id, error)
        return True

    async def _members(self, run: RunRecord) -> Sequence[RunRecord]:
        if run.group_id is None:
            return ()
        return await self._storage(runs.members, run.group_id)


def _scores(members: Sequence[RunRecord]) -> tuple[float, ...]:
    """Return the newest mean rewards of runs that have used at least half of their budget."""
    found = [_score(run) for run in members if run.share_done >= 0.5]
    return tuple(score for score in found if score is not None)


def _score(run: RunRecord) -> float | None:
    score: float | None = (run.latest or {}).get("mean_reward")
    return score


def _load(folder: RunFolder) -> Findings | None:
    stored = folder.load_insights()
    try:
        return Findings(stored) if stored is not None else None
    except (msgspec.ValidationError, LookupError, TypeError):
        # Written by another version, or damaged: examine the run again.
        return None
