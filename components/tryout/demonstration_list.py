"""Episodes that somebody played and kept."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from components.base.buttons import quiet_button
from components.base.metrics import format_number
from components.base.panel import EmptyState
from components.base.sizes import kilobytes
from components.base.steady_rows import SteadyRows
from components.base.times import moment
from storage.files.demonstrations import Demonstration


class DemonstrationList:
    """A row per demonstration, with what can be done with it."""

    def __init__(self, *, on_delete: Callable[[Demonstration], Awaitable[None]]) -> None:
        self._on_delete = on_delete
        self._empty = EmptyState(
            "No demonstrations yet",
            "Play an episode to its end and keep it: agents can learn from it.",
        )
        self._list = ui.element("ul").classes("lab-kept").props('aria-label="Demonstrations"')
        self._rows = SteadyRows(self._list, self._row)

    def show(self, kept: Sequence[Demonstration]) -> None:
        """Show these."""
        self._empty.set_visibility(not kept)
        self._list.set_visibility(bool(kept))
        self._rows.show(kept)

    def _row(self, kept: Demonstration) -> None:
        with ui.element("li"):
            with ui.element("div"):
                ui.label(f"{format_number(kept.total, 1)} in {kept.steps:,} steps").classes(
                    "lab-name"
                )
                seen = "" if kept.has_observations else ", without pixels"
                facts = f"{moment(kept.created_at)} · {kilobytes(kept.size)}{seen}"
                ui.label(facts).classes("lab-small")
            with ui.element("div").classes("lab-row-actions"):
                link = ui.element("a").classes("lab-small")
                link.props(f'href="/api/demonstrations/{kept.id}" download')
                with link:
                    ui.label("Download").classes("lab-inline")
                label = f"the demonstration of {moment(kept.created_at)}"
                quiet_button("Delete", lambda: self._on_delete(kept), label=label)
