"""Everything that has a good default: grouped, and found by typing."""

from collections.abc import Callable, Mapping, Sequence

from nicegui import ui

from components.base.fold import Fold
from components.base.hyperparameter_field import HyperparameterField
from components.setup.field_groups import FieldGroup

Fields = Mapping[FieldGroup, Sequence[HyperparameterField]]


class AdvancedSettings:
    """Groups that open by a click, or because something in them matches what was typed."""

    def __init__(self, fields: Callable[[], Fields]) -> None:
        """`fields` returns what there is to find right now."""
        self._fields = fields
        self._groups: dict[FieldGroup, Fold] = {}
        self._places: dict[FieldGroup, ui.element] = {}
        with Fold("Advanced"):
            self._text = ui.input(placeholder="Find a setting", on_change=self.search)
            self._text.props('dense outlined clearable aria-label="Find a setting"')
            self._text.classes("lab-full").mark("find_setting")
            for group in FieldGroup:
                fold = Fold(group.value).classes("lab-group").mark(group.value)
                self._groups[group] = fold
                with fold:
                    self._places[group] = ui.element("div").classes("lab-form")
            self._nothing = ui.label().classes("lab-small")

    def place(self, group: FieldGroup) -> ui.element:
        """Return where the fields of a group go."""
        return self._places[group]

    def search(self) -> None:
        """Show what matches all the words, and open where it is."""
        words = (self._text.value or "").lower().split()
        found = {group: _show(fields, words) for group, fields in self._fields().items()}
        for group, expansion in self._groups.items():
            matches = found.get(group, 0)
            expansion.set_visibility(matches > 0)
            if words:
                expansion.set_value(matches > 0)
        nothing = (
            f'No setting matches "{self._text.value}".' if words and not any(found.values()) else ""
        )
        self._nothing.set_text(nothing)


def _show(fields: Sequence[HyperparameterField], words: Sequence[str]) -> int:
    """Show the fields that match, hide the others; return how many match."""
    matches = 0
    for field in fields:
        is_match = all(word in field.words for word in words)
        field.set_visibility(is_match)
        matches += is_match
    return matches
