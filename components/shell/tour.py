"""The quick-start tour: from nothing to a trained CartPole in four steps."""

from collections.abc import Callable

from nicegui import ui

from app.catalog.algorithms import DEFAULT_ALGORITHM
from app.catalog.environments import EnvSpec
from app.catalog.presets import PresetName, expectation
from components.base import format_seconds
from storage.records import RunRecord, RunStatus

_ENV_ID = "CartPole-v1"
_BROKEN = (RunStatus.FAILED, RunStatus.INTERRUPTED)


class Tour(ui.element, component="tour.js"):
    """A guide that never covers its target and can be left at any time."""

    def __init__(self, *, running: RunRecord | None, on_picked: Callable[[], None]) -> None:
        """Start the tour; `running` is the run that is already shown."""
        super().__init__()
        self._earlier_run_id = None if running is None else running.id
        self._saw_others = False
        self._props["env"] = _ENV_ID
        self._props["steps"] = _steps()
        self._props["ends"] = _ENDS
        self.on("picked", on_picked)

    def show(self, chosen: EnvSpec, run: RunRecord | None) -> None:
        """Advance if the user has done the current step."""
        self._saw_others = self._saw_others or chosen.id != _ENV_ID
        started = run if run is not None and run.id != self._earlier_run_id else None
        props = {
            # A preselected environment is not "picked"; tour.js also counts a click on its card.
            "picked": self._saw_others and chosen.id == _ENV_ID,
            "status": "" if started is None else _state(started.status),
        }
        if any(self._props.get(name) != value for name, value in props.items()):
            self._props.update(props)
            self.update()


def _state(status: RunStatus) -> str:
    if status in _BROKEN:
        return "broken"
    return "over" if status.is_over else "moving"


def _steps() -> list[str]:
    return [
        "CartPole-v1 is selected: the agent pushes a cart to keep a pole upright. Press its card, "
        "or Next.",
        f"The preset Fast is selected{_time()}. Press Train.",
        "Training is running. The live feed shows the newest policy, the bars the reward of each "
        "episode: 500 is the maximum.",
        "Training is complete. Press Test to evaluate the policy on episodes with new seeds.",
    ]


def _time() -> str:
    known = expectation(_ENV_ID, DEFAULT_ALGORITHM.id, PresetName.FAST)
    return "" if known is None else f"; it takes about {format_seconds(known.seconds)}"


_ENDS = {
    "tested": (
        "Done: you trained an agent. Watch the evaluation; its score and its video follow. "
        "Next, try another environment, or switch Explain on."
    ),
    "trained": (
        "Done: you trained an agent. Its model is below the live feed. Next, try another "
        "environment, or switch Explain on."
    ),
    "broken": (
        "The run ended early; the red line below the live feed says why. Press Train to try again."
    ),
}
