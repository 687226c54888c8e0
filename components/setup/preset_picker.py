"""Choose a preset and see what it was measured to reach."""

from collections.abc import Callable
from dataclasses import dataclass

from nicegui import ui

from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.environments.catalogue import get_environment
from app.catalog.presets.catalogue import expectation, presets_for
from app.catalog.presets.spec import Expectation, Preset, PresetName
from app.core.errors import InputError
from components.base.metrics import NOT_MEASURED, format_number
from components.base.progress import format_seconds

_CHOICES: tuple[PresetName | None, ...] = (None, *PresetName)
_MEASURED = "Measured here: mean of 100 episodes after training, processor time of one training."
_NOTHING = "None of them was measured for this pair, so nothing is promised."


@dataclass(frozen=True, slots=True)
class _Row:
    card: ui.element
    score: ui.label
    time: ui.label


class PresetPicker:
    """Fast, Stable, High score, or the algorithm's own defaults, with what they reached."""

    def __init__(self, *, on_pick: Callable[[], object]) -> None:
        self._on_pick = on_pick
        self.value: PresetName | None = None
        """The chosen preset, or None for the defaults."""
        ui.label("Preset").classes("lab-label")
        with (
            ui.element("div")
            .classes("lab-presets")
            .props('role="radiogroup" aria-label="Preset"')
            .on("keydown.down.prevent", lambda: self._move(1))
            .on("keydown.up.prevent", lambda: self._move(-1))
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
        """Return the values of the choice for a pair, and show what each of them promises."""
        environment, spec = get_environment(env_id), get_algorithm(algorithm)
        try:
            spec.check_fits(environment)
            known = {name: expectation(environment.id, spec.id, name) for name in PresetName}
        except InputError:
            known = dict.fromkeys(PresetName)
        for name, found in known.items():
            self._rows[name].score.set_text(_score(found))
            self._rows[name].time.set_text(_time(found))
        self._note.set_text(_MEASURED if any(known.values()) else _NOTHING)
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

    def _move(self, by: int) -> None:
        there = _CHOICES[(_CHOICES.index(self.value) + by) % len(_CHOICES)]
        self.pick(there)
        self._rows[there].card.run_method("focus")

    def _mark(self) -> None:
        for name, row in self._rows.items():
            is_chosen = name == self.value
            row.card.props(
                f"aria-checked={str(is_chosen).lower()} tabindex={0 if is_chosen else -1}"
            )


def _score(known: Expectation | None) -> str:
    """Write the mean over seeds, with their range where they differ."""
    if known is None:
        return NOT_MEASURED
    low, high = min(known.scores), max(known.scores)
    score = format_number(known.score, 1)
    return score if low == high else f"{score} ({low:,.0f}..{high:,.0f})"


def _time(known: Expectation | None) -> str:
    return format_seconds(known.seconds if known else None)
