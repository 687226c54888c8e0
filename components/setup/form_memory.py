"""What was chosen and typed into a form, kept by the browser's tab over a reload."""

from collections.abc import Callable

from nicegui import ui
from nicegui.events import GenericEventArguments

from storage.records.runs import JsonObject


class FormMemory(ui.element, component="form_memory.js"):
    """Keeps a draft in the tab, and hands it over when the same page is loaded again."""

    def __init__(self, *, on_recall: Callable[[JsonObject], None]) -> None:
        """`on_recall` gets what the browser kept, which may be anything."""
        super().__init__()
        self._on_recall = on_recall
        self.on("recall", self._recalled)

    def keep(self, draft: JsonObject) -> None:
        """Let the tab keep this instead of what it had."""
        if draft != self._props.get("draft"):
            self._props["draft"] = draft
            self.update()

    def _recalled(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, dict):
            self._on_recall(event.args)
