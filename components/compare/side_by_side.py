"""Videos of compared runs beside each other, in step."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from nicegui import ui

from app.access.run_access import RunAccess
from app.accounts.errors import AccessError
from app.analysis.comparison.entries import Entry
from app.analysis.comparison.numbers import final_reward
from app.evaluation.evaluation import Evaluation, EvaluationOptions
from app.runs.execution.periodic_evaluation import SEED
from components.base.buttons import compact_button
from components.base.metrics import format_number
from components.base.panel import EmptyState
from components.base.refusal import Refusal
from components.evaluation.evaluation_video import video_url
from storage.errors import LabError, RunNotFoundError
from storage.records.curves import AXES, Curves, View
from storage.records.runs import JsonObject, RunRecord

_Look = Callable[[str, View], Awaitable[Curves]]


class _Lanes(ui.element, component="side_by_side.js"):
    """One video per entry, one slider for all."""

    def show(self, lanes: Sequence[JsonObject], *, same_seed: bool) -> None:
        """Show other videos, unless they are the same."""
        if (lanes, same_seed) != (self._props.get("lanes"), self._props.get("same-seed")):
            self._props["lanes"], self._props["same-seed"] = lanes, same_seed
            self.update()


class SideBySide:
    """Time machines and latest tests of the runs in sight; of a group the seed in the middle."""

    def __init__(self, trainer: RunAccess) -> None:
        self._trainer = trainer
        self._entries: Sequence[Entry] = ()
        self._colours: Mapping[str, int] = {}
        self._runs: list[RunRecord] = []
        self._empty = EmptyState(
            "No videos yet", "Film all on one seed: one episode of each, with the newest policy."
        )
        self._lanes = _Lanes()
        self._film = compact_button("Film all on one seed", self._film_all)
        # Until it is known which runs there are: pressed before, it would do nothing.
        self._film.set_visibility(False)
        self._refusal = Refusal()
        self._note = ui.label().classes("lab-small").props('role="status"')
        trainer.evaluations.changed.subscribe(self._changed)
        trainer.evaluations.clips_changed.subscribe(self._changed)

    async def follow(self, entries: Sequence[Entry], colours: Mapping[str, int]) -> None:
        """Show the videos of these entries."""
        self._entries, self._colours = entries, colours
        await self.refresh()

    async def refresh(self) -> None:
        """Show the videos that there are now."""
        entries = self._entries
        runs = [_middle(entry.runs) for entry in entries]
        try:
            tests = _on_one_seed([await self._tests(run.id) for run in runs])
            clips = [await self._clips(run.id) for run in runs]
        except (RunNotFoundError, AccessError):
            # Deleted, or not shared any more: the page says so when it looks again.
            return
        if entries is not self._entries:
            return
        self._runs = runs
        lanes = [
            {
                "key": entry.key,
                "name": entry.name if not entry.is_group else run.name,
                "colour": self._colours[entry.key],
                "clips": moments,
                "test": None if test is None else {"url": video_url(test), "words": _words(test)},
            }
            for entry, run, moments, test in zip(entries, runs, clips, tests, strict=True)
        ]
        has_any = any(lane["clips"] or lane["test"] for lane in lanes)
        self._empty.set_visibility(not has_any)
        self._film.set_visibility(any(self._trainer.evaluations.may_change(run) for run in runs))
        self._lanes.show(lanes if has_any else [], same_seed=_have_one_seed(tests))

    async def _tests(self, run_id: str) -> list[Evaluation]:
        found = await self._trainer.evaluations.list(run_id)
        return [one for one in found if one.kind == "evaluation" and one.has_video and one.seeds]

    async def _clips(self, run_id: str) -> list[JsonObject]:
        clips = await self._trainer.evaluations.clips(run_id)
        steps = [clip.timesteps for clip in clips]
        places = {axis: await self._places(run_id, axis, steps) for axis in AXES if steps}
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
        return (await self._trainer.curves(run_id, view)).marks

    async def _film_all(self) -> None:
        """Let every run that the visitor may test play the same episode."""
        refused = []
        for run in self._runs:
            try:
                await self._trainer.evaluations.start(
                    run.id, EvaluationOptions(episodes=1, seed=SEED, record=True)
                )
            except LabError as error:
                refused.append(f"{run.name}: {error}")
        self._refusal.say(" ".join(refused))
        if len(refused) < len(self._runs):
            self._note.set_text("Filming. Each video appears when it is ready.")

    async def _changed(self, run_id: str) -> None:
        if any(run.id == run_id for run in self._runs):
            await self.refresh()


def _middle(runs: Sequence[RunRecord]) -> RunRecord:
    """Return the run in the middle by its score: neither the luckiest nor the unluckiest seed."""
    measured = [run for run in runs if final_reward(run) is not None]
    ordered = sorted(measured, key=lambda run: final_reward(run) or 0.0) or list(runs)
    return ordered[len(ordered) // 2]


def _on_one_seed(tests: Sequence[Sequence[Evaluation]]) -> list[Evaluation | None]:
    """Return the newest test of each, on a seed that all of them have played if there is one."""
    played = [{one.seeds[0] for one in found} for found in tests if found]
    shared = set.intersection(*played) if played else set()
    for found in tests:
        for one in found:
            if one.seeds[0] in shared:
                seed = one.seeds[0]
                return [next((t for t in all_ if t.seeds[0] == seed), None) for all_ in tests]
    return [next(iter(found), None) for found in tests]


def _have_one_seed(tests: Sequence[Evaluation | None]) -> bool:
    return len({test.seeds[0] for test in tests if test is not None}) <= 1


def _words(test: Evaluation) -> str:
    step = "" if test.timesteps is None else f"step {test.timesteps:,}, "
    return f"{step}seed {test.seeds[0]}, mean {format_number(test.mean_return, 1)}"
