"""Compare runs as one visitor may see them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.access.run_access import RunAccess
from app.accounts.errors import AccessError
from app.analysis.comparison.conclusions import Scores, Verdict, judge
from app.analysis.comparison.differences import Difference, differences
from app.analysis.comparison.entries import GROUP, Entry, Missing, folded, single, told_apart
from app.analysis.comparison.lineage import Node, nodes
from app.analysis.comparison.lines import Line, line_of_group, line_of_run
from app.analysis.comparison.numbers import Numbers, numbers
from app.evaluation.evaluation import Evaluation, EvaluationStatus
from storage.errors import GroupNotFoundError, RunNotFoundError
from storage.files.fork_files import ForkFiles
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.records.curves import Curve, View
from storage.records.runs import RunRecord

SCORE = "mean_reward"
"""What seeds are compared by."""

_LAST_EPISODES = 100
_LINES_OF_THOSE = 1_000
"""Some lines tell of updates; further back nobody looks for the last episodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything about some entries but their curves."""

    entries: Sequence[Entry]
    differences: Sequence[Difference]
    numbers: Sequence[Numbers]
    verdicts: Sequence[Verdict]
    """The first entry, or the one that was asked for, against each of the others."""
    notes: Sequence[str]
    """What one should know before believing the rest."""


class Comparing:
    """Gathers what a comparison needs; the trainer checks who asks."""

    def __init__(self, trainer: RunAccess) -> None:
        self._trainer = trainer

    async def find(self, keys: Sequence[str]) -> tuple[list[Entry], list[Missing]]:
        """Return what there is of what was asked for, and why the rest is missing."""
        entries: list[Entry] = []
        missing: list[Missing] = []
        for key in keys:
            try:
                entries.append(await self.entry(key))
            except (RunNotFoundError, GroupNotFoundError, AccessError) as error:
                missing.append(Missing(key, str(error)))
        return told_apart(entries), missing

    async def entry(self, key: str) -> Entry:
        """Return a run, or a group with its seeds.

        Raises:
            RunNotFoundError, GroupNotFoundError: if there is none of this id.
            AccessError: if it isn't the visitor's to look at.
        """
        if key.startswith(GROUP):
            group_id = key.removeprefix(GROUP)
            return folded(group_id, await self._trainer.group(group_id))
        return single(await self._trainer.get(key))

    async def compare(self, entries: Sequence[Entry], *, against: str | None = None) -> Comparison:
        """Return what came of entries, what differs, and which is better than the reference."""
        evaluations = {run.id: await self._evaluation(run) for run in _runs(entries)}
        rewards = {
            entry.key: await self._last_rewards(entry.key)
            for entry in entries
            if not entry.is_group
        }
        verdicts, notes = await self._verdicts(entries, against, evaluations)
        return Comparison(
            entries=entries,
            differences=differences(entries),
            numbers=[numbers(entry, evaluations, rewards) for entry in entries],
            verdicts=verdicts,
            notes=notes,
        )

    async def lines(self, entries: Sequence[Entry], view: View) -> list[Line]:
        """Return the curves of entries in every metric of a view."""
        found = [await self._lines(entry, view) for entry in entries]
        return [line for lines in found for line in lines]

    async def reach(self, entries: Sequence[Entry], axis: str) -> tuple[float, float]:
        """Return the first and last value of an axis over all entries."""
        view = View(names=(), axis=axis, max_points=1)
        ends = [(await self._trainer.curves(run.id, view)).extent for run in _runs(entries)]
        return min((low for low, _ in ends), default=0.0), max((h for _, h in ends), default=0.0)

    async def lineage(self, run_id: str) -> list[Node]:
        """Return the runs that a run came of and all that came of those, parents first."""
        runs = await self._trainer.family(run_id)
        folders = {run.id: self._trainer.folder(run.id) for run in runs}
        return nodes(runs, await asyncio.to_thread(_kept, folders))

    async def _lines(self, entry: Entry, view: View) -> list[Line]:
        by_run = [await self._trainer.curves(run.id, view) for run in entry.runs]
        lines: list[Line | None] = []
        for metric in view.names:
            curves = [found.by_name[metric] for found in by_run if metric in found.by_name]
            if entry.is_group:
                window = (view.start, view.end)
                lines.append(
                    await asyncio.to_thread(line_of_group, entry.key, metric, curves, window)
                )
            elif curves:
                lines.append(line_of_run(entry.key, metric, curves[0]))
        return [line for line in lines if line is not None]

    async def _evaluation(self, run: RunRecord) -> Evaluation | None:
        """Return the last evaluation that came to its end."""
        for found in await self._trainer.evaluations.list(run.id):
            if found.kind == "evaluation" and found.status is EvaluationStatus.COMPLETED:
                return found
        return None

    async def _last_rewards(self, run_id: str) -> list[float]:
        path = self._trainer.folder(run_id).metrics
        lines = await asyncio.to_thread(metrics.tail_lines, path, _LINES_OF_THOSE)
        rewards = [float(line["reward"]) for line in lines if line.get("reward") is not None]
        return rewards[-_LAST_EPISODES:]

    async def _verdicts(
        self,
        entries: Sequence[Entry],
        against: str | None,
        evaluations: Mapping[str, Evaluation | None],
    ) -> tuple[list[Verdict], list[str]]:
        if len(entries) < 2:
            return [], []
        environments = dict.fromkeys(entry.env_id for entry in entries)
        if len(environments) > 1:
            names = ", ".join(environments)
            return [], [f"Scores of different environments can't be compared: {names}."]
        measured = [
            replace(entry, runs=tuple(run for run in entry.runs if run.progress.timesteps))
            for entry in entries
        ]
        reaches = [run.progress.timesteps for entry in measured for run in entry.runs]
        at = min(reaches, default=None)
        scores = [await self._scores(entry, at, evaluations) for entry in measured]
        ours = next((one for one in scores if one.key == against), scores[0])
        others = [one for one in scores if one is not ours]
        return judge(ours, others, at), _notes(measured, at)

    async def _scores(
        self, entry: Entry, at: int | None, evaluations: Mapping[str, Evaluation | None]
    ) -> Scores:
        found = [await self._score(run, at) for run in entry.runs]
        values = [value for value in found if value is not None]
        judged = None if entry.is_group else evaluations.get(entry.key)
        returns = () if judged is None else judged.returns
        return Scores(key=entry.key, name=entry.name, values=values, returns=returns)

    async def _score(self, run: RunRecord, at: int | None) -> float | None:
        """Return a run's last mean reward by some step, as exactly as its file has it."""
        if at is None:
            return None
        # A close look is exact; it shows nothing where the last episode ended before.
        for start in (at, None):
            view = View(names=(SCORE,), start=start, end=at)
            curve: Curve | None = (await self._trainer.curves(run.id, view)).by_name.get(SCORE)
            points = () if curve is None else zip(*curve.points, strict=True)
            if by_then := [y for x, y in points if x <= at]:
                return by_then[-1]
        return None


def _kept(folders: Mapping[str, RunFolder]) -> dict[str, tuple[list[int], list[int]]]:
    """Return from which steps runs can be branched: their checkpoints, and before changes."""
    return {
        run_id: (
            [file.timesteps for file in folder.checkpoints],
            ForkFiles(folder.forks_path).steps(),
        )
        for run_id, folder in folders.items()
    }


def _runs(entries: Sequence[Entry]) -> list[RunRecord]:
    return [run for entry in entries for run in entry.runs]


def _notes(entries: Sequence[Entry], at: int | None) -> list[str]:
    """Say at which step they are compared, and who hasn't come farther."""
    runs = _runs(entries)
    if at is None:
        return []
    notes = [f"Compared after {at:,} steps, the last that all have reached."]
    if 2 * at < max(run.progress.timesteps for run in runs):
        slowest = min(runs, key=lambda run: run.progress.timesteps)
        notes.append(f"{slowest.name} hasn't come farther; without it there is more to compare.")
    options = {str(sorted((run.config.get("env_kwargs") or {}).items())) for run in runs}
    if len(options) > 1:
        notes.append("The environment has other options in some: their scores may mean less.")
    return notes
