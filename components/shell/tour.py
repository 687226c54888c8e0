"""The quick-start tour: from nothing to a trained CartPole in four steps."""

from collections.abc import Callable

from nicegui import ui

from app.catalog.environments.spec import EnvSpec
from app.catalog.presets.catalogue import expectation
from app.catalog.presets.spec import PresetName
from components.base.progress import format_seconds
from storage.records.runs import RunRecord, RunStatus

_ENV_ID = "CartPole-v1"
_BROKEN = (RunStatus.FAILED, RunStatus.INTERRUPTED)


class Tour(ui.element, component="tour.js"):
    """A guide beside the page; it never covers what it speaks of, and can be left at any time."""

    def __init__(self, *, running: RunRecord | None, on_picked: Callable[[], None]) -> None:
        """Begin the tour; `running` is the run that is in sight already."""
        super().__init__()
        self._before = None if running is None else running.id
        self._saw_others = False
        self._props["env"] = _ENV_ID
        self._props["steps"] = _steps()
        self._props["ends"] = _ENDS
        self.on("picked", on_picked)

    def show(self, chosen: EnvSpec, run: RunRecord | None) -> None:
        """Go on if a person did what the step asks for."""
        self._saw_others = self._saw_others or chosen.id != _ENV_ID
        started = run if run is not None and run.id != self._before else None
        wanted = {
            # What was chosen from the start is no choice; a press on the card counts, too.
            "picked": self._saw_others and chosen.id == _ENV_ID,
            "status": "" if started is None else _state(started.status),
        }
        if any(self._props.get(name) != value for name, value in wanted.items()):
            self._props.update(wanted)
            self.update()


def _state(status: RunStatus) -> str:
    if status in _BROKEN:
        return "broken"
    return "over" if status.is_over else "moving"


def _steps() -> list[str]:
    return [
        "CartPole-v1 is chosen already: an agent that pushes a cart to keep a pole upright, and a "
        "good first one. Press its card, or Next.",
        f"The preset Fast is set{_time()}. Press Train.",
        "Now watch. The stage shows the newest policy, the bars what each episode brought: 500 is "
        "the most.",
        "It is trained. Press Test, and it plays a few episodes it has never seen.",
    ]


def _time() -> str:
    known = expectation(_ENV_ID, "PPO", PresetName.FAST)
    return "" if known is None else f"; it takes about {format_seconds(known.seconds)}"


_ENDS = {
    "tested": "That's it: you trained an agent. Now watch it play; its score follows, and then "
    "its video. Try another environment next, or switch Explain on.",
    "trained": "That's it: you trained an agent. Its model is below the stage. Try another "
    "environment, or switch Explain on.",
    "broken": "The run ended early; the red line below the stage says why. Press Train to try "
    "again.",
}
