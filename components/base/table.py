"""A table whose rows are drawn anew when they change."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from nicegui import ui


class Table:
    """Titles and a body; cells are labelled, so that narrow screens can show rows as cards."""

    def __init__(self, *titles: str, numbers: Sequence[str] = ()) -> None:
        """`numbers` are the titles above numbers."""
        self.titles: Sequence[str] = titles
        with ui.element("table").classes("lab-table") as self.element:
            with ui.element("thead"), ui.element("tr"):
                for title in titles:
                    with ui.element("th").classes("is-number" if title in numbers else ""):
                        ui.label(title).classes("lab-label")
            self.body = ui.element("tbody")

    @staticmethod
    def row() -> AbstractContextManager[ui.element]:
        """Begin a row."""
        return ui.element("tr")

    @staticmethod
    def cell(title: str, *, classes: str = "lab-mono") -> ui.element:
        """Begin a cell below the title of this name."""
        cell = ui.element("td").classes(classes)
        if title:
            cell.props(f'data-label="{title}"')
        return cell

    def text(self, title: str, text: str, *, classes: str = "lab-mono") -> None:
        """Add a cell that says something."""
        with self.cell(title, classes=classes):
            ui.label(text).classes("lab-inline")
