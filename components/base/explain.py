"""Explanations next to numbers, shown while Explain is on; the switch is in frame.js."""

from typing import TypeVar

from nicegui import ui

from app.catalog import explanation
from app.catalog.algorithms import Family, get_algorithm
from app.catalog.environments import EnvSpec

Field = TypeVar("Field", bound=ui.element)


class Explained:
    """One or two sentences; hidden unless Explain is on."""

    def __init__(self, name: str, spec: EnvSpec | None = None) -> None:
        self._name = name
        self._label = ui.label().classes("lab-explained")
        self.explain_for(spec)

    def explain_for(self, spec: EnvSpec | None, family: Family | None = None) -> None:
        """Explain the number for an environment and a family of algorithms."""
        self._label.set_text(explanation(self._name, spec, family))


def explained(name: str, spec: EnvSpec | None = None) -> Explained:
    """Explain the number or chart above: its meaning and good values; `name` is the metric."""
    return Explained(name, spec)


def with_hint(field: Field, sentence: str) -> Field:
    """Add a hint to a field, hidden unless Explain is on."""
    # Not through `props`, which would parse quotes in a sentence as its own syntax.
    field._props["hint"] = sentence
    return field.classes("has-hint")


class AlgorithmCard:
    """An algorithm's idea, its uses and what to tune first; hidden unless Explain is on."""

    def __init__(self) -> None:
        self._parts: dict[str, ui.label] = {}
        with ui.element("dl").classes("lab-explained lab-algorithm"):
            for title in ("Idea", "When to use it", "What to tune first"):
                with ui.element("div"):
                    with ui.element("dt").classes("lab-label"):
                        ui.label(title)
                    with ui.element("dd"):
                        self._parts[title] = ui.label()

    def show(self, algorithm: str) -> None:
        """Explain an algorithm."""
        card = get_algorithm(algorithm).card
        tune = f"{', '.join(card.first)}. {card.how}"
        for label, text in zip(self._parts.values(), (card.idea, card.when, tune), strict=True):
            label.set_text(text)
