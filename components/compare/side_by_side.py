"""Synchronized videos of compared runs, side by side."""

from collections.abc import Mapping, Sequence

from nicegui import ui

from app.access import Access
from app.accounts import AccessError
from app.analysis.comparison import Entry
from app.evaluation import Evaluation, EvaluationRequest, Evaluations
from app.runs import RunService, scores_of_one_kind
from components.base import EmptyState, Refusal, compact_button, format_number
from components.evaluation import video_url
from storage import LabError, RunNotFoundError
from storage.records import CURVE_AXES, JsonObject, RunRecord, View


class _Lanes(ui.element, component="side_by_side.js"):
    """One video per entry, one slider for all."""

    def show(self, lanes: Sequence[JsonObject], *, same_seed: bool) -> None:
        """Show other videos, unless they are the same."""
        if (lanes, same_seed) != (self._props.get("lanes"), self._props.get("same-seed")):
            self._props["lanes"], self._props["same-seed"] = lanes, same_seed
            self.update()


class SideBySide:
    """Clips and latest evaluation videos of compared runs; a group shows its median seed."""

    def __init__(self, runs: RunService, access: Access, evaluations: Evaluations) -> None:
        self._service = runs
        self._access = access
        self._evaluations = evaluations
        self._entries: Sequence[Entry] = ()
        self._colours: Mapping[str, int] = {}
        self._runs: list[RunRecord] = []
        self._empty = EmptyState(
            "No videos yet", "Record all on one seed: one episode of each, with the newest policy."
        )
        self._lanes = _Lanes()
        self._record = compact_button("Record all on one seed", self._record_all)
        # Hidden until the runs are loaded: a click before would do nothing.
        self._record.set_visibility(False)
        self._refusal = Refusal()
        self._note = ui.label().classes("lab-small").props('role="status"')
        evaluations.changed.subscribe(self._changed)
        evaluations.clips_changed.subscribe(self._changed)

    async def follow(self, entries: Sequence[Entry], colours: Mapping[str, int]) -> None:
        """Show the videos of these entries."""
        self._entries, self._colours = entries, colours
        await self.refresh()

    async def refresh(self) -> None:
        """Show the current videos."""
        entries = self._entries
        runs = [_median_run(entry.runs) for entry in entries]
        try:
            evaluations = _on_one_seed([await self._recorded_evaluations(run.id) for run in runs])
            clips = [await self._clips(run.id) for run in runs]
        except (RunNotFoundError, AccessError):
            # Deleted or no longer shared: the page reports it at its next refresh.
            return
        if entries is not self._entries:
            return
        self._runs = runs
        lanes = [
            {
                "key": entry.key,
                "name": entry.name if not entry.is_group else run.name,
                "colour": self._colours[entry.key],
                "clips": run_clips,
                "evaluation": None
                if evaluation is None
                else {"url": video_url(evaluation), "words": _words(evaluation)},
            }
            for entry, run, run_clips, evaluation in zip(
                entries, runs, clips, evaluations, strict=True
            )
        ]
        has_any = any(lane["clips"] or lane["evaluation"] for lane in lanes)
        self._empty.set_visibility(not has_any)
        self._record.set_visibility(any(self._access.principal.changes(run) for run in runs))
        self._lanes.show(lanes if has_any else [], same_seed=_have_one_seed(evaluations))

    async def _recorded_evaluations(self, run_id: str) -> list[Evaluation]:
        found = await self._evaluations.list(await self._access.visible(run_id))
        return [one for one in found if one.kind == "evaluation" and one.has_video and one.seeds]

    async def _clips(self, run_id: str) -> list[JsonObject]:
        clips = await self._evaluations.clips(await self._access.visible(run_id))
        steps = [clip.timesteps for clip in clips]
        places = {axis: await self._places(run_id, axis, steps) for axis in CURVE_AXES if steps}
        return [
            {
                "step": clip.timesteps,
                "score": clip.score,
                "url": clip.url(run_id),
                "x": {axis: xs[i] for axis, xs in places.items()},
            }
            for i, clip in enumerate(clips)
        ]

    async def _places(self, run_id: str, axis: str, steps: Sequence[int]) -> Sequence[float]:
        view = View(names=(), axis=axis, mark_steps=steps)
        run = await self._access.visible(run_id)
        return (await self._service.curves(run, view)).marks

    async def _record_all(self) -> None:
        """Record one episode on the same seed with every run that the principal may evaluate."""
        refused = []
        for run in self._runs:
            try:
                request = EvaluationRequest(episodes=1, record=True)
                evaluable = await self._access.evaluable(run.id, uses_disk=True)
                await self._evaluations.start(evaluable, request)
            except LabError as error:
                refused.append(f"{run.name}: {error}")
        self._refusal.say(" ".join(refused))
        if len(refused) < len(self._runs):
            self._note.set_text("Recording. Each video appears when it is ready.")

    async def _changed(self, run_id: str) -> None:
        if any(run.id == run_id for run in self._runs):
            await self.refresh()


def _median_run(runs: Sequence[RunRecord]) -> RunRecord:
    """Return the run with the median score: neither the luckiest nor the unluckiest seed."""
    _, kind = scores_of_one_kind(runs)
    measured = [run for run in runs if kind in run.scores]
    ordered = sorted(measured, key=lambda run: run.scores[kind]) or list(runs)
    return ordered[len(ordered) // 2]


def _on_one_seed(evaluations: Sequence[Sequence[Evaluation]]) -> list[Evaluation | None]:
    """Return the newest evaluation of each run, on a seed that all share if there is one."""
    played = [{one.seeds[0] for one in found} for found in evaluations if found]
    shared = set.intersection(*played) if played else set()
    for found in evaluations:
        for one in found:
            if one.seeds[0] in shared:
                seed = one.seeds[0]
                return [next((t for t in all_ if t.seeds[0] == seed), None) for all_ in evaluations]
    return [next(iter(found), None) for found in evaluations]


def _have_one_seed(evaluations: Sequence[Evaluation | None]) -> bool:
    return len({evaluation.seeds[0] for evaluation in evaluations if evaluation is not None}) <= 1


def _words(evaluation: Evaluation) -> str:
    step = "" if evaluation.timesteps is None else f"step {evaluation.timesteps:,}, "
    return f"{step}seed {evaluation.seeds[0]}, mean {format_number(evaluation.mean_return, 1)}"
