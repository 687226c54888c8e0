"""Settings that have good defaults, in groups, with a search field."""

from collections.abc import Callable, Mapping, Sequence

from nicegui import ui

from app.catalog.algorithms import Group
from components.base import Fold, HyperparameterField

Fields = Mapping[str, Sequence[HyperparameterField]]
"""The fields of each group, by its title."""

ENVIRONMENT = "Environment and wrappers"
EVALUATION = "Evaluation"
RUN = "Run"
TITLES = (*Group, ENVIRONMENT, EVALUATION, RUN)
"""The groups, in display order."""


class AdvancedSettings:
    """Groups that open on a click, or when the search finds something in them."""

    def __init__(self, fields: Callable[[], Fields]) -> None:
        """`fields` returns the fields that can be searched right now."""
        self._fields = fields
        self._groups: dict[str, Fold] = {}
        self._places: dict[str, ui.element] = {}
        with Fold("Advanced"):
            self._text = ui.input(placeholder="Find a setting", on_change=self.search)
            self._text.props('dense outlined clearable aria-label="Find a setting"')
            self._text.classes("lab-full").mark("find_setting")
            for group in TITLES:
                fold = Fold(str(group)).classes("lab-group").mark(str(group))
                self._groups[group] = fold
                with fold:
                    self._places[group] = ui.element("div").classes("lab-form")
            self._no_match = ui.label().classes("lab-small")

    def place(self, group: str) -> ui.element:
        """Return the container of a group's fields."""
        return self._places[group]

    def search(self) -> None:
        """Show the fields that match all words of the search, and open their groups."""
        words = (self._text.value or "").lower().split()
        match_counts = {group: _show(fields, words) for group, fields in self._fields().items()}
        for group, fold in self._groups.items():
            matches = match_counts.get(group, 0)
            fold.set_visibility(matches > 0)
            if words:
                fold.set_value(matches > 0)
        no_match = (
            f'No setting matches "{self._text.value}".'
            if words and not any(match_counts.values())
            else ""
        )
        self._no_match.set_text(no_match)


def _show(fields: Sequence[HyperparameterField], words: Sequence[str]) -> int:
    """Show the fields that match and hide the others; return the number of matches."""
    matches = 0
    for field in fields:
        is_match = all(word in field.search_text for word in words)
        field.set_visibility(is_match)
        matches += is_match
    return matches
