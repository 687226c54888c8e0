"""The field to choose a preset, with the measured results of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nicegui import ui

from app.catalog.algorithms import get_algorithm
from app.catalog.environments import get_environment
from app.catalog.presets import (
    Expectation,
    Preset,
    PresetName,
    Published,
    default_preset,
    expectation,
    presets_for,
    write_score,
)
from app.core import InputError
from components.base import NOT_MEASURED, format_seconds

_CHOICES: tuple[PresetName | None, ...] = (None, *PresetName)
_MEASURED = "Measured: mean return of 100 episodes after training, CPU time of one training."
_NO_RESULTS = (
    "Not measured for this environment and algorithm. Default: the lab's defaults and the "
    "environment's usual budget."
)


@dataclass(frozen=True, slots=True)
class _Row:
    card: ui.element
    score: ui.label
    time: ui.label


class PresetPicker:
    """The algorithm's defaults and the presets that exist, with their scores."""

    def __init__(self, *, on_pick: Callable[[], object]) -> None:
        self._on_pick = on_pick
        self._wanted: PresetName | None = None
        self._offered: Mapping[PresetName, Preset] = {}
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

    @property
    def value(self) -> PresetName | None:
        """The chosen preset if it exists for the chosen pair, or None for the defaults."""
        return self._wanted if self._wanted in self._offered else None

    def pick(self, name: PresetName | None) -> None:
        """Choose a preset."""
        self._wanted = name
        self._mark()
        self._on_pick()

    def preset(self, env_id: str, algorithm: str) -> Preset:
        """Return the chosen preset for a pair, and show the scores of all that it has."""
        environment, spec = get_environment(env_id), get_algorithm(algorithm)
        try:
            spec.check_fits(environment)
            self._offered = presets_for(environment, spec)
        except InputError:
            self._offered = {}
        results = {name: expectation(environment.id, spec.id, name) for name in self._offered}
        for name, row in self._rows.items():
            row.card.set_visibility(name is None or name in self._offered)
            if name in self._offered:
                measured = results[name]
                row.score.set_text(_score(measured, self._offered[name].published))
                row.time.set_text(_time(measured))
        self._mark()
        default = default_preset(environment, spec)
        chosen = default if self.value is None else self._offered[self.value]
        self._note.set_text(_note(chosen, has_results=any(results.values())))
        return chosen

    def _row(self, name: PresetName | None) -> _Row:
        label = name.label if name else "Default"
        with ui.element("button").classes("lab-preset").props('type="button" role="radio"') as card:
            ui.label(label).classes("lab-name")
            score = ui.label(NOT_MEASURED).classes("lab-mono")
            time = ui.label(NOT_MEASURED).classes("lab-mono")
        card.mark(f"preset {label}").on("click", lambda: self.pick(name))
        return _Row(card, score, time)

    def _pick_next(self, by: int) -> None:
        choices = [name for name in _CHOICES if name is None or name in self._offered]
        target = choices[(choices.index(self.value) + by) % len(choices)]
        self.pick(target)
        self._rows[target].card.run_method("focus")

    def _mark(self) -> None:
        for name, row in self._rows.items():
            is_chosen = name == self.value
            row.card.props(
                f"aria-checked={str(is_chosen).lower()} tabindex={0 if is_chosen else -1}"
            )


def _note(chosen: Preset, *, has_results: bool) -> str:
    published = chosen.published.sentence if chosen.published else ""
    parts = (_MEASURED if has_results else _NO_RESULTS, published, chosen.note)
    return " ".join(part for part in parts if part)


def _score(measured: Expectation | None, published: Published | None) -> str:
    """Format the mean over seeds, with their range where they differ."""
    if measured is None:
        return NOT_MEASURED if published is None else f"{write_score(published.score)} published"
    low, high = write_score(min(measured.scores)), write_score(max(measured.scores))
    score = write_score(measured.score)
    return score if low == high else f"{score} ({low}..{high})"


def _time(measured: Expectation | None) -> str:
    return format_seconds(measured.seconds if measured else None)
