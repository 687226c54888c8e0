"""Look at every run while it trains and once it is over, off the event loop."""

import asyncio
import logging
from collections.abc import Sequence

import msgspec
from pydantic import ValidationError

from app.analysis.doctor.findings import Findings
from app.analysis.doctor.rules.catalogue import examine
from app.analysis.insights.history import History
from app.analysis.insights.insight import Insight, Severity
from app.analysis.insights.situation import Situation
from app.core.events import Event
from app.core.storage_thread import StorageThread
from app.core.tasks import Tasks
from app.run_config.config import RunConfig
from app.run_config.seeds import MAX_SEEDS
from app.runs.state.journal import Journal
from storage.database import runs
from storage.errors import NotWrittenError, RunNotFoundError
from storage.files.lab_folder import LabFolder
from storage.files.run_folder import RunFolder
from storage.metrics.metrics import LineReader
from storage.records.runs import EventLevel, RunFilter, RunRecord, RunStatus

_EVERY_S = 4.0
_LINES_AT_ONCE = 2_000
_LAST_LOOK_S = 5.0
"""How long the end of a run may wait for it."""
_LEVELS = {Severity.WARNING: EventLevel.WARNING, Severity.ERROR: EventLevel.ERROR}

_log = logging.getLogger(__name__)


class Patient:
    """One run under observation: what was read of it, and what is shown of that."""

    def __init__(self, run: RunRecord, folder: RunFolder, findings: Findings) -> None:
        self.run = run
        """As it was last heard of."""
        self.folder = folder
        self.findings = findings
        self.is_over = asyncio.Event()
        self.leaving: asyncio.Task[None] | None = None
        """The last look, once the run is over."""
        self._history = History()
        self._reader = LineReader(folder.metrics, after=0)

    def examine(self, seeds: tuple[float, ...]) -> list[Insight]:
        """Read on, and return what all that was read says; belongs on a thread."""
        while lines := self._reader.read(_LINES_AT_ONCE):
            self._history.add(msgspec.json.decode(line) for line in lines)
        if not self._history.timesteps:
            return []
        situation = Situation(
            # As it is now: values may have been changed while it trains.
            RunConfig.model_validate(self.run.config),
            self._history,
            status=self.run.status,
            error=self.run.error,
            seeds=seeds,
        )
        return examine(situation)


class Doctor:
    """Examines runs; what it found lies below their folders and in their logs."""

    def __init__(self, journal: Journal, folder: LabFolder, storage: StorageThread) -> None:
        self.changed = Event[[str]]()
        """The findings about a run are others."""
        self._journal = journal
        self._folder = folder
        self._storage = storage
        self._patients: dict[str, Patient] = {}
        self._one_at_a_time = asyncio.Semaphore(1)
        self._tasks = Tasks()
        journal.run_changed.subscribe(self._run_changed)
        journal.before_end = self._before_end

    async def close(self) -> None:
        """Wait a little for the last looks at runs that just ended."""
        for patient in self._patients.values():
            if patient.leaving is None:
                patient.is_over.set()
        await self._tasks.wait(_LAST_LOOK_S)
        await self._tasks.cancel()

    async def insights(self, run: RunRecord) -> Sequence[Insight]:
        """Return what was found about a run, the most important first."""
        patient = self._patients.get(run.id)
        if patient is not None and run.status.is_over:
            await asyncio.shield(self._leave(patient, run))
            return patient.findings.shown
        if patient is not None:
            return patient.findings.shown
        return await self._known(run)

    async def _known(self, run: RunRecord) -> Sequence[Insight]:
        """Return what lies in a run's folder; one that nobody looked at is looked at now."""
        findings = await asyncio.to_thread(_load, self._folder.run(run.id))
        if findings is not None and not run.status.is_over:
            findings.forget_after(run.progress.timesteps)
        if findings is not None or not run.status.is_over:
            return findings.shown if findings else []
        patient = await self._admit(run)
        if patient is None:
            return []
        await self._look(patient, is_final=True, tells=False)
        return patient.findings.shown

    def _run_changed(self, run: RunRecord) -> None:
        patient = self._patients.get(run.id)
        if patient is not None:
            patient.run = run
            if run.status.is_over:
                self._leave(patient, run)
        elif run.status is RunStatus.RUNNING:
            self._tasks.start(self._follow(run), name=f"examine {run.id}")

    async def _before_end(self, run: RunRecord) -> None:
        """Look for the last time, so that findings stand in the log before the end does."""
        if (patient := self._patients.get(run.id)) is not None:
            await asyncio.wait({self._leave(patient, run)}, timeout=_LAST_LOOK_S)

    async def _follow(self, run: RunRecord) -> None:
        patient = await self._admit(run)
        if patient is None or run.id in self._patients:
            return
        self._patients[run.id] = patient
        await self._forget_what_was_taken_back(patient)
        await self._hear_of_early_end(patient)
        while not patient.is_over.is_set():
            try:
                async with asyncio.timeout(_EVERY_S):
                    await patient.is_over.wait()
            except TimeoutError:
                if patient.run.status is RunStatus.RUNNING:
                    await self._look(patient, is_final=False)

    async def _forget_what_was_taken_back(self, patient: Patient) -> None:
        """A resume can go back behind what was found before."""
        if patient.findings.forget_after(patient.run.progress.timesteps):
            await self._keep(patient)
            self.changed.emit(patient.run.id)

    async def _hear_of_early_end(self, patient: Patient) -> None:
        """A run may end while its folder is being read."""
        try:
            run = await self._storage(runs.get_run, patient.run.id)
        except (RunNotFoundError, NotWrittenError):
            return
        if run.status.is_over:
            self._leave(patient, run)

    async def _admit(self, run: RunRecord) -> Patient | None:
        folder = self._folder.run(run.id)
        findings = await asyncio.to_thread(_load, folder)
        try:
            RunConfig.model_validate(run.config)
        except ValidationError:
            # A configuration of another version: it can be looked at, but not judged.
            _log.warning("Run %s can't be examined: its configuration is not understood", run.id)
            return None
        return Patient(run, folder, findings or Findings())

    def _leave(self, patient: Patient, run: RunRecord) -> asyncio.Task[None]:
        """Take the last look at a run that is over, once."""
        if patient.leaving is None:
            patient.run = run
            patient.is_over.set()
            patient.leaving = self._tasks.start(self._last_look(patient), name=f"leave {run.id}")
        return patient.leaving

    async def _last_look(self, patient: Patient) -> None:
        try:
            await self._look(patient, is_final=True)
        finally:
            self._patients.pop(patient.run.id, None)
            if patient.run.status.has_worker:
                # It was resumed meanwhile.
                self._tasks.start(self._follow(patient.run), name=f"examine {patient.run.id}")
        if patient.run.group_id is not None:
            self._tasks.start(self._look_at_others(patient.run), name=f"group of {patient.run.id}")

    async def _look_at_others(self, run: RunRecord) -> None:
        """See what the end of a run means for the others of its group that are over."""
        for member in await self._members(run):
            if member.id != run.id and member.status.is_over:
                other = await self._admit(member)
                if other is not None:
                    await self._look(other, is_final=True)

    async def _look(self, patient: Patient, *, is_final: bool, tells: bool = True) -> None:
        """Examine a run, keep what was found, and tell what is new."""
        run_id = patient.run.id
        scores = _scores(await self._members(patient.run))
        async with self._one_at_a_time:
            found = await asyncio.to_thread(patient.examine, scores)
            before = patient.findings.shown
            fresh = patient.findings.take(found, is_final=is_final)
            if patient.findings.shown == before and not is_final:
                return
            if not await self._keep(patient):
                return
        for insight in fresh if tells else ():
            level = _LEVELS.get(insight.severity, EventLevel.INFO)
            data = {"code": insight.code, "timesteps": insight.at}
            await self._journal.tell(run_id, "insight", f"{insight.title}.", level=level, data=data)
        self.changed.emit(run_id)

    async def _keep(self, patient: Patient) -> bool:
        """Store the findings; return whether the run is still there to be told about."""
        try:
            await self._storage(runs.get_run, patient.run.id)
            await asyncio.to_thread(patient.folder.save_insights, patient.findings.to_keep())
        except RunNotFoundError:
            return False
        except (OSError, NotWrittenError) as error:
            _log.warning("The findings about run %s were not stored: %s", patient.run.id, error)
        return True

    async def _members(self, run: RunRecord) -> Sequence[RunRecord]:
        if run.group_id is None:
            return ()
        wanted = RunFilter(group_id=run.group_id, archived=None)
        page = await self._storage(runs.list_runs, wanted, sort="created_at", limit=MAX_SEEDS)
        return page.items


def _scores(members: Sequence[RunRecord]) -> tuple[float, ...]:
    """Return the newest mean reward of those that are at least half through."""
    found = [_score(run) for run in members if run.share_done >= 0.5]
    return tuple(score for score in found if score is not None)


def _score(run: RunRecord) -> float | None:
    score: float | None = (run.latest or {}).get("mean_reward")
    return score


def _load(folder: RunFolder) -> Findings | None:
    kept = folder.load_insights()
    try:
        return Findings(kept) if kept is not None else None
    except (msgspec.ValidationError, LookupError, TypeError):
        # Of another version, or damaged: look again.
        return None
