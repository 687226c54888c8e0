"""A table whose rows are rebuilt when they change."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from nicegui import ui


class Table:
    """A header and a body; cells are labelled, so that narrow screens can show rows as cards."""

    def __init__(self, *titles: str, numbers: Sequence[str] = ()) -> None:
        """`numbers` are the titles of numeric columns."""
        self.titles: Sequence[str] = titles
        with ui.element("table").classes("lab-table") as self.element:
            with ui.element("thead"), ui.element("tr"):
                for title in titles:
                    with ui.element("th").classes("is-number" if title in numbers else ""):
                        ui.label(title).classes("lab-label")
            self.body = ui.element("tbody")

    @staticmethod
    def row() -> AbstractContextManager[ui.element]:
        """Open a row, to be used as a context manager."""
        return ui.element("tr")

    @staticmethod
    def cell(title: str, *, classes: str = "lab-mono") -> ui.element:
        """Open a cell in the column with this title."""
        cell = ui.element("td").classes(classes)
        if title:
            cell.props(f'data-label="{title}"')
        return cell

    def text(self, title: str, text: str, *, classes: str = "lab-mono") -> None:
        """Add a cell with a text."""
        with self.cell(title, classes=classes):
            ui.label(text).classes("lab-inline")
