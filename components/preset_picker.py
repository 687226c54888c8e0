"""Choose a preset and see what it was measured to reach."""

from collections.abc import Callable

from nicegui import ui

from app.algorithms.catalogue import get_algorithm
from app.environments.catalogue import get_environment
from app.errors import InputError
from app.presets.catalogue import expectation, presets_for
from app.presets.spec import Expectation, Preset, PresetName
from components.hyperparameter_field import checked_elsewhere
from components.progress import format_seconds

_NONE = "default"


class PresetPicker:
    """Fast, Stable, High score, or the algorithm's own defaults."""

    def __init__(self, *, on_pick: Callable[[], object]) -> None:
        choices = {_NONE: "Default"} | {name.value: name.label for name in PresetName}
        self._select = ui.select(choices, label="Preset", value=_NONE, on_change=on_pick)
        checked_elsewhere(self._select).props("dense outlined hide-bottom-space").mark("Preset")
        self._promise = ui.label().classes("lab-small")

    @property
    def value(self) -> PresetName | None:
        """The chosen preset, or None for the defaults."""
        return None if self._select.value == _NONE else PresetName(self._select.value)

    def preset(self, env_id: str, algorithm: str) -> Preset:
        """Return the values of the choice for a pair, and say what they promise."""
        environment, spec = get_environment(env_id), get_algorithm(algorithm)
        name = self.value
        if name is None:
            self._promise.set_text("")
            return Preset(total_timesteps=environment.default_timesteps)
        try:
            spec.check_fits(environment)
        except InputError:
            self._promise.set_text("")
        else:
            self._promise.set_text(_promise(expectation(environment.id, spec.id, name)))
        return presets_for(environment, spec)[name]


def _promise(known: Expectation | None) -> str:
    if known is None:
        return "Not measured yet, so it promises nothing."
    low, high = min(known.scores), max(known.scores)
    score = (
        f"{known.score:,.1f}" if low == high else f"{known.score:,.1f} ({low:,.0f}..{high:,.0f})"
    )
    seeds = f"{len(known.scores)} seed{'s' if len(known.scores) > 1 else ''}"
    return f"Reached {score} in {format_seconds(known.seconds)} of processor time, {seeds}."
