"""A list that reuses its rows: re-rendering a row would lose a click that is being processed."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from nicegui import ui

Item = TypeVar("Item")


class SteadyRows(Generic[Item]):
    """The rows of a list; rows with unchanged content keep their elements."""

    def __init__(self, box: ui.element, draw: Callable[[Item], object]) -> None:
        """`draw` adds exactly one element."""
        self._box = box
        self._draw = draw
        self._rows: list[tuple[Item, ui.element]] = []

    def show(self, items: Iterable[Item]) -> None:
        """Add rows of new items, delete those of missing items, and keep the order."""
        old, self._rows = self._rows, []
        for item in items:
            known = next((row for row in old if row[0] == item), None)
            if known is not None:
                old.remove(known)
            self._rows.append(known or (item, self._add(item)))
        for _, element in old:
            element.delete()
        for place, (_, element) in enumerate(self._rows):
            if list(self._box)[place] is not element:
                element.move(target_index=place)

    def _add(self, item: Item) -> ui.element:
        with self._box:
            self._draw(item)
        return list(self._box)[-1]
