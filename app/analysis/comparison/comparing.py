"""Comparison of the runs that one principal may see."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.access import Access
from app.accounts import AccessError
from app.analysis.comparison.across_tasks import AcrossTasks, compare_across
from app.analysis.comparison.conclusions import Conclusion, Scores, conclude
from app.analysis.comparison.differences import Difference, differences
from app.analysis.comparison.entries import (
    GROUP,
    Entry,
    Missing,
    group_entry,
    run_entry,
    with_distinct_names,
)
from app.analysis.comparison.lineage import Node, nodes
from app.analysis.comparison.lines import GroupCurve, Line, line_of_group, line_of_run
from app.analysis.comparison.numbers import Numbers, numbers
from app.analysis.comparison.scoring import Scored, score_runs
from app.analysis.comparison.tasks import task_differences
from app.evaluation import Evaluation, Evaluations, EvaluationStatus
from app.protocol import SeedFamily
from app.runs import RunService, ends_of, has_ended_solved
from app.statistics import MIN_SAMPLES
from storage import GroupNotFoundError, RunNotFoundError
from storage.files import RunFolder, SnapshotFiles
from storage.metrics import metrics
from storage.records import Curve, Curves, RunRecord, ScoreKind, View

_LAST_EPISODES = 100
_TAIL_LINES = 1_000
"""Lines read from the end of a file to find the last episodes; some lines are of updates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of comparing entries, without their curves."""

    entries: Sequence[Entry]
    differences: Sequence[Difference]
    numbers: Sequence[Numbers]
    conclusions: Sequence[Conclusion]
    """Of the reference (by default the first entry) against each of the others."""
    notes: Sequence[str]
    """Caveats about the results."""
    across: AcrossTasks | None = None
    """Normalized scores, if there are several environments."""


class Comparing:
    """Compares runs for one principal; access is checked whenever a run is read."""

    def __init__(self, access: Access, runs: RunService, evaluations: Evaluations) -> None:
        self._access = access
        self._service = runs
        self._evaluations = evaluations

    async def find(self, keys: Sequence[str]) -> tuple[list[Entry], list[Missing]]:
        """Return the entries for keys, and for each other key why it is missing."""
        entries: list[Entry] = []
        missing: list[Missing] = []
        for key in keys:
            try:
                entries.append(await self.entry(key))
            except (RunNotFoundError, GroupNotFoundError, AccessError) as error:
                missing.append(Missing(key, str(error)))
        return with_distinct_names(entries), missing

    async def entry(self, key: str) -> Entry:
        """Return the entry of a run or of a group.

        Raises:
            RunNotFoundError, GroupNotFoundError: if there is none with this id.
            AccessError: if the principal may not see it.
        """
        if key.startswith(GROUP):
            group_id = key.removeprefix(GROUP)
            return group_entry(group_id, await self._access.group(group_id))
        return run_entry(await self._access.visible(key))

    async def compare(self, entries: Sequence[Entry], *, against: str | None = None) -> Comparison:
        """Return results, different settings, and which entries beat the reference."""
        evaluations = {run.id: await self._evaluation(run) for run in _runs(entries)}
        rewards = {
            entry.key: await self._last_rewards(entry.key)
            for entry in entries
            if not entry.is_group
        }
        conclusions, notes = await self._conclusions(entries, against, evaluations)
        return Comparison(
            entries=entries,
            differences=differences(entries),
            numbers=[numbers(entry, evaluations, rewards) for entry in entries],
            conclusions=conclusions,
            notes=notes,
            across=await self._across(entries),
        )

    async def _across(self, entries: Sequence[Entry]) -> AcrossTasks | None:
        if len({entry.env_id for entry in entries}) < 2:
            return None
        return await compare_across(entries, self._curves)

    async def lines(self, entries: Sequence[Entry], view: View) -> list[Line]:
        """Return the curves of entries in every metric of a view."""
        found = [await self._lines(entry, view) for entry in entries]
        return [line for lines in found for line in lines]

    async def reach(self, entries: Sequence[Entry], axis: str) -> tuple[float, float]:
        """Return the first and last value of an axis over all entries."""
        view = View(names=(), axis=axis, max_points=1)
        ends = [(await self._curves(run, view)).extent for run in _runs(entries)]
        return min((low for low, _ in ends), default=0.0), max((h for _, h in ends), default=0.0)

    async def lineage(self, run_id: str) -> list[Node]:
        """Return the ancestors of a run and all their descendants, parents first."""
        runs = await self._access.family(await self._access.visible(run_id))
        folders = {run.id: self._service.folder(run) for run in runs}
        return nodes(runs, await asyncio.to_thread(_branch_steps, folders))

    async def _curves(self, run: RunRecord, view: View) -> Curves:
        return await self._service.curves(await self._access.visible(run.id), view)

    async def _lines(self, entry: Entry, view: View) -> list[Line]:
        if entry.is_group:
            return await self._group_lines(entry, view)
        found = (await self._curves(entry.runs[0], view)).by_name
        return [
            line_of_run(entry.key, metric, found[metric])
            for metric in view.names
            if metric in found
        ]

    async def _group_lines(self, entry: Entry, view: View) -> list[Line]:
        inside = [(await self._curves(run, view)).by_name for run in entry.runs]
        earlier = replace(view, start=None, end=view.start)
        before: list[Mapping[str, Curve]] = [{} for _ in entry.runs]
        if view.start is not None:
            before = [(await self._curves(run, earlier)).by_name for run in entry.runs]
        ends = ends_of(entry.runs, view.axis)
        found = []
        for metric in view.names:
            curves = [
                GroupCurve(inside=now.get(metric), before=then.get(metric), end=end)
                for now, then, end in zip(inside, before, ends, strict=True)
            ]
            window = (view.start, view.end)
            found.append(await asyncio.to_thread(line_of_group, entry.key, metric, curves, window))
        return [line for line in found if line is not None]

    async def _evaluation(self, run: RunRecord) -> Evaluation | None:
        """Return the evaluation of a run's final policy: a final one, else the last test."""
        found = [
            one
            for one in await self._evaluations.list(await self._access.visible(run.id))
            if _is_of_final_policy(one, run)
        ]
        return next((one for one in found if one.is_final), found[0] if found else None)

    async def _last_rewards(self, run_id: str) -> list[float]:
        path = self._service.folder(await self._access.visible(run_id)).metrics
        lines = await asyncio.to_thread(metrics.tail_lines, path, _TAIL_LINES)
        rewards = [float(line["reward"]) for line in lines if line.get("reward") is not None]
        return rewards[-_LAST_EPISODES:]

    async def _conclusions(
        self,
        entries: Sequence[Entry],
        against: str | None,
        evaluations: Mapping[str, Evaluation | None],
    ) -> tuple[list[Conclusion], list[str]]:
        if len(entries) < 2:
            return [], []
        environments = dict.fromkeys(entry.env_id for entry in entries)
        if len(environments) > 1:
            names = ", ".join(environments)
            return [], [
                f"Scores of different environments can't be compared directly: {names}. "
                "Normalized ones are compared over all of them."
            ]
        trained = [
            replace(entry, runs=tuple(run for run in entry.runs if run.progress.timesteps))
            for entry in entries
        ]
        scored = await score_runs(_runs(trained), self._curves)
        reference = next((one for one in entries if one.key == against), entries[0])
        scores = {
            entry.key: _scores(entry, reference, scored, evaluations.get(entry.key))
            for entry in entries
        }
        ours = scores.pop(reference.key)
        conclusions = conclude(ours, list(scores.values()), scored.timesteps, scored.kind)
        return conclusions, _notes(_runs(trained), scored)


def _is_of_final_policy(one: Evaluation, run: RunRecord) -> bool:
    """Whether it tells how good a run's final policy is: with default settings, and not once."""
    is_complete = one.kind == "evaluation" and one.status is EvaluationStatus.COMPLETED
    is_plain = one.deterministic and not one.disturbances and one.code is None
    # The best policy was chosen for its luck, even if it is the last one.
    is_last = one.checkpoint in (None, one.timesteps)
    return (
        is_complete
        and is_plain
        and is_last
        and one.seed_family is not SeedFamily.SELECTION
        and one.timesteps == run.progress.timesteps
        and one.episodes >= MIN_SAMPLES
    )


def _scores(
    entry: Entry, reference: Entry, scored: Scored, evaluation: Evaluation | None
) -> Scores:
    """Return what is known of an entry for the comparison with the reference."""
    differing = task_differences(reference.runs[0], entry.runs[0], scored.kind)
    return Scores(
        key=entry.key,
        name=entry.name,
        values=[scored.by_run[run.id] for run in entry.runs if run.id in scored.by_run],
        returns=() if entry.is_group or evaluation is None else evaluation.returns,
        task_differences=differing,
    )


def _branch_steps(folders: Mapping[str, RunFolder]) -> dict[str, tuple[list[int], list[int]]]:
    """Return the steps of checkpoints and of policy snapshots, by run."""
    return {
        run_id: (
            [file.timesteps for file in folder.checkpoints],
            SnapshotFiles(folder.snapshots_path).steps(),
        )
        for run_id, folder in folders.items()
    }


def _runs(entries: Sequence[Entry]) -> list[RunRecord]:
    return [run for entry in entries for run in entry.runs]


_NOTES: Mapping[ScoreKind, str] = {
    ScoreKind.FINAL_EVALUATION: "Compared by the final evaluation of each seed.",
    ScoreKind.LAST_EVALUATION: (
        "Compared by the periodic evaluations after {at:,} steps, the last that all have."
    ),
    ScoreKind.TRAINING_MEAN: (
        "Compared after {at:,} steps, the last that all have reached, by the mean reward of "
        "training, which includes exploration: not all have evaluations there."
    ),
}


def _notes(runs: Sequence[RunRecord], scored: Scored) -> list[str]:
    """Return what was compared at which step, and caveats."""
    if scored.timesteps is None:
        return []
    notes = [_NOTES[scored.kind].format(at=scored.timesteps)]
    solved = sum(map(has_ended_solved, runs))
    if solved:
        notes.append(
            f"{solved} of {len(runs)} runs stopped because they had solved the task; they keep "
            "their last score."
        )
    slowest = min(runs, key=lambda run: (has_ended_solved(run), run.progress.timesteps))
    if 2 * scored.timesteps < max(run.progress.timesteps for run in runs):
        notes.append(
            f"{slowest.name} has trained no further; without it, a later step can be compared."
        )
    return notes
