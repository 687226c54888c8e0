"""The time machine: clips of the policy at steps of the training, linked to the reward curve."""

from collections.abc import Sequence

from nicegui import ui

from app.access import Access
from app.accounts import AccessError
from app.evaluation import Evaluations
from app.runs import RunService
from app.runs.execution import Clip
from app.runs.state import RunFeed
from components.evaluation.state import EvaluationState
from storage import RunNotFoundError
from storage.records import CURVE_AXES, JsonObject, View


class TimeMachineStrip(ui.element, component="time_machine.js"):
    """A slider and a player for the clips; hidden until there is a clip."""

    def __init__(
        self, runs: RunService, evaluations: Evaluations, access: Access, state: EvaluationState
    ) -> None:
        super().__init__()
        self._runs = runs
        self._evaluations = evaluations
        self._access = access
        self._state = state
        self._run_id: str | None = None
        self._props["clips"] = []
        self.on("evolve", state.evolve)
        evaluations.clips_changed.subscribe(self._changed)

    async def follow(self, feed: RunFeed | None) -> None:
        """Load the clips of another run, or reload those of this one."""
        self._run_id = feed.run.id if feed else None
        self._props["clips"] = []
        self.update()
        await self._read()

    def show(self, feed: RunFeed | None) -> None:
        """Show the button for the evolution video if the user may create one."""
        offered = (
            feed is not None and self._state.may_change(feed),
            self._state.evolution is not None,
        )
        if offered != (self._props.get("may-evolve"), self._props.get("is-evolving")):
            self._props["may-evolve"], self._props["is-evolving"] = offered
            self.update()

    async def _changed(self, run_id: str) -> None:
        if run_id == self._run_id:
            await self._read()

    async def _read(self) -> None:
        run_id = self._run_id
        if run_id is None:
            return
        try:
            clips = await self._evaluations.clips(await self._access.visible(run_id))
            positions = await self._positions(run_id, clips) if clips else {}
        except (AccessError, RunNotFoundError):
            # Deleted, or no longer shared: the rest of the page shows that.
            clips, positions = (), {}
        if run_id == self._run_id:
            self._props["clips"] = [
                _clip_props(run_id, clip, {axis: xs[i] for axis, xs in positions.items()})
                for i, clip in enumerate(clips)
            ]
            self.update()

    async def _positions(self, run_id: str, clips: Sequence[Clip]) -> dict[str, Sequence[float]]:
        """Return the positions of the clips on each axis."""
        steps = [clip.timesteps for clip in clips]
        positions = {}
        for axis in CURVE_AXES:
            view = View(names=(), axis=axis, mark_steps=steps)
            positions[axis] = (
                await self._runs.curves(await self._access.visible(run_id), view)
            ).marks
        return positions


def _clip_props(run_id: str, clip: Clip, positions: dict[str, float]) -> JsonObject:
    return {"step": clip.timesteps, "score": clip.score, "url": clip.url(run_id), "x": positions}
