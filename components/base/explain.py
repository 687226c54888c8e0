"""Sentences beside numbers, for who switched Explain on; the switch is in frame.js."""

from typing import TypeVar

from nicegui import ui

from app.catalog.algorithms.cards import CARDS
from app.catalog.environments.spec import EnvSpec
from app.catalog.glossary import explanation

Field = TypeVar("Field", bound=ui.element)


class Explained:
    """One sentence or two; hidden unless a person wants explanations."""

    def __init__(self, name: str, spec: EnvSpec | None = None) -> None:
        self._name = name
        self._label = ui.label().classes("lab-explained")
        self.about(spec)

    def about(self, spec: EnvSpec | None) -> None:
        """Say what the number means in this environment."""
        self._label.set_text(explanation(self._name, spec))


def explained(name: str, spec: EnvSpec | None = None) -> Explained:
    """Say below a number or chart what it is and what good looks like; `name` as in metrics."""
    return Explained(name, spec)


def with_hint(field: Field, sentence: str) -> Field:
    """Let a field carry a sentence, hidden unless a person wants explanations."""
    # Not by `props`, which would read the quotes of a sentence as its own.
    field._props["hint"] = sentence
    return field.classes("has-hint")


class AlgorithmWords:
    """Idea, when to use it, what to tune first; hidden unless a person wants explanations."""

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
        """Say what to know about an algorithm."""
        card = CARDS[algorithm]
        tune = f"{', '.join(card.first)}. {card.how}"
        for label, text in zip(self._parts.values(), (card.idea, card.when, tune), strict=True):
            label.set_text(text)
