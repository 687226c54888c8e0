"""The field to choose a preset, with the measured results of each."""

from collections.abc import Callable
from dataclasses import dataclass

from nicegui import ui

from app.catalog.algorithms import get_algorithm
from app.catalog.environments import get_environment
from app.catalog.presets import Expectation, Preset, PresetName, expectation, presets_for
from app.core import InputError
from components.base import NOT_MEASURED, format_number, format_seconds

_CHOICES: tuple[PresetName | None, ...] = (None, *PresetName)
_MEASURED = "Measured: mean return of 100 episodes after training, CPU time of one training."
_NO_RESULTS = "Not measured for this environment and algorithm."


@dataclass(frozen=True, slots=True)
class _Row:
    card: ui.element
    score: ui.label
    time: ui.label


class PresetPicker:
    """Fast, Stable, High score, or the algorithm's defaults, with their measured results."""

    def __init__(self, *, on_pick: Callable[[], object]) -> None:
        self._on_pick = on_pick
        self.value: PresetName | None = None
        """The chosen preset, or None for the defaults."""
        ui.label("Preset").classes("lab-label")
        with (
            ui.element("div")
            .classes("lab-presets")
            .props('role="radiogroup" aria-label="Preset"')
            .on("keydown.down.prevent", lambda: self._pick_next(1))
            .on("keydown.up.prevent", lambda: self._pick_next(-1))
            .mark("Preset")
        ):
            self._rows = {name: self._row(name) for name in _CHOICES}
        self._note = ui.label().classes("lab-small")
        self._mark()

    def pick(self, name: PresetName | None) -> None:
        """Choose a preset."""
        self.value = name
        self._mark()
        self._on_pick()

    def preset(self, env_id: str, algorithm: str) -> Preset:
        """Return the chosen preset for a pair, and show the measured results of all presets."""
        environment, spec = get_environment(env_id), get_algorithm(algorithm)
        try:
            spec.check_fits(environment)
            results = {name: expectation(environment.id, spec.id, name) for name in PresetName}
        except InputError:
            results = dict.fromkeys(PresetName)
        for name, measured in results.items():
            self._rows[name].score.set_text(_score(measured))
            self._rows[name].time.set_text(_time(measured))
        self._note.set_text(_MEASURED if any(results.values()) else _NO_RESULTS)
        if self.value is None:
            return Preset(total_timesteps=environment.default_timesteps)
        return presets_for(environment, spec)[self.value]

    def _row(self, name: PresetName | None) -> _Row:
        label = name.label if name else "Default"
        with ui.element("button").classes("lab-preset").props('type="button" role="radio"') as card:
            ui.label(label).classes("lab-name")
            score = ui.label(NOT_MEASURED).classes("lab-mono")
            time = ui.label(NOT_MEASURED).classes("lab-mono")
        card.mark(f"preset {label}").on("click", lambda: self.pick(name))
        return _Row(card, score, time)

    def _pick_next(self, by: int) -> None:
        target = _CHOICES[(_CHOICES.index(self.value) + by) % len(_CHOICES)]
        self.pick(target)
        self._rows[target].card.run_method("focus")

    def _mark(self) -> None:
        for name, row in self._rows.items():
            is_chosen = name == self.value
            row.card.props(
                f"aria-checked={str(is_chosen).lower()} tabindex={0 if is_chosen else -1}"
            )


def _score(measured: Expectation | None) -> str:
    """Format the mean over seeds, with their range where they differ."""
    if measured is None:
        return NOT_MEASURED
    low, high = min(measured.scores), max(measured.scores)
    score = format_number(measured.score, 1)
    return score if low == high else f"{score} ({low:,.0f}..{high:,.0f})"


def _time(measured: Expectation | None) -> str:
    return format_seconds(measured.seconds if measured else None)
