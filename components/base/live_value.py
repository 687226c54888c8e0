"""Texts and bars that change while a run trains.

NiceGUI re-renders the whole page when any element is updated. These elements send only their value
to their own component; one that is rendered (again) reads the newest value from its props.
"""

from nicegui import ui


class LiveText(ui.label, component="live_text.js"):
    """A label whose text may change several times a second."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)
        assert self.component is not None
        self.tag = self.component.tag  # `ui.label` sets its own tag.

    def _text_to_model_text(self, text: str) -> None:
        with self._props.suspend_updates():
            self._props["text"] = text

    def _handle_text_change(self, text: str) -> None:
        self._text_to_model_text(text)
        self.run_method("show", text)


class LiveBar(ui.element, component="live_bar.js"):
    """A bar from 0 to 100 %."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._props["aria-label"] = name
        self._props["percent"] = 0.0

    def show(self, percent: float) -> None:
        """Set the filled percentage."""
        if percent == self._props["percent"]:
            return
        with self._props.suspend_updates():
            self._props["percent"] = percent
        self.run_method("show", percent)
