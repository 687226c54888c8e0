"""Keeps the choices and inputs of a form across a reload."""

from collections.abc import Callable

from nicegui import ui
from nicegui.events import GenericEventArguments

from storage.records import JsonObject


class FormMemory(ui.element, component="form_memory.js"):
    """Keeps a draft in the browser's tab and returns it when the same page is reloaded."""

    def __init__(self, *, on_recall: Callable[[JsonObject], None]) -> None:
        """`on_recall` receives the draft from the browser, which is untrusted data."""
        super().__init__()
        self._on_recall = on_recall
        self.on("recall", self._recalled)

    def keep(self, draft: JsonObject) -> None:
        """Replace the draft that the tab keeps."""
        if draft != self._props.get("draft"):
            self._props["draft"] = draft
            self.update()

    def _recalled(self, event: GenericEventArguments) -> None:
        if isinstance(event.args, dict):
            self._on_recall(event.args)
