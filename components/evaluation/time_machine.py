"""The time machine: clips of the policy at moments of the training, bound to the reward curve."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from app.access.evaluation_access import EvaluationAccess
from app.accounts.errors import AccessError
from app.runs.execution.time_machine import Clip
from app.runs.state.feed import RunFeed
from components.evaluation.evaluation_desk import EvaluationDesk
from storage.errors import RunNotFoundError
from storage.records.curves import AXES, Curves, View
from storage.records.runs import JsonObject

_Look = Callable[[str, View], Awaitable[Curves]]


class TimeMachineStrip(ui.element, component="time_machine.js"):
    """Shows nothing until there is a clip."""

    def __init__(self, evaluations: EvaluationAccess, desk: EvaluationDesk, *, look: _Look) -> None:
        """`look` returns where steps lie on an axis of the curves."""
        super().__init__()
        self._evaluations = evaluations
        self._desk = desk
        self._look = look
        self._run_id: str | None = None
        self._props["moments"] = []
        self.on("evolve", desk.evolve)
        evaluations.clips_changed.subscribe(self._changed)

    async def follow(self, feed: RunFeed | None) -> None:
        """Show the clips of another run, or of this one anew."""
        self._run_id = feed.run.id if feed else None
        self._props["moments"] = []
        self.update()
        await self._read()

    def show(self, feed: RunFeed | None) -> None:
        """Offer the evolution video to whoever may have it made."""
        offered = (
            feed is not None and self._desk.may_change(feed),
            self._desk.evolution is not None,
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
            clips = await self._evaluations.clips(run_id)
            places = await self._places(run_id, clips) if clips else {}
        except (AccessError, RunNotFoundError):
            # Deleted, or not shared any more: the rest of the page says so.
            clips, places = (), {}
        if run_id == self._run_id:
            self._props["moments"] = [
                _moment(run_id, clip, {axis: xs[i] for axis, xs in places.items()})
                for i, clip in enumerate(clips)
            ]
            self.update()

    async def _places(self, run_id: str, clips: Sequence[Clip]) -> dict[str, Sequence[float]]:
        """Return where the clips are on each axis."""
        steps = [clip.timesteps for clip in clips]
        found = {}
        for axis in AXES:
            view = View(names=(), axis=axis, mark_steps=steps)
            found[axis] = (await self._look(run_id, view)).marks
        return found


def _moment(run_id: str, clip: Clip, places: dict[str, float]) -> JsonObject:
    return {"step": clip.timesteps, "score": clip.score, "url": clip.url(run_id), "x": places}
