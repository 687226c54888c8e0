"""What an extension of a run does to its schedules."""

from nicegui import ui

from app.core import read_whole
from app.protocol import ScheduleMode
from app.run_config import describe_extension, readable_config
from components.base import checked_elsewhere
from storage.records import RunRecord

_MODES: dict[ScheduleMode, str] = {
    "hold": "Hold the last value",
    "stretch": "Stretch over the new total",
}


class ScheduleChoice:
    """Tells what a typed budget does to schedules; offers a choice where there is one."""

    def __init__(self) -> None:
        self._run: RunRecord | None = None
        self._typed = ""
        self._mode = ui.select(_MODES, label="Schedules", value="hold", on_change=self._explain)
        checked_elsewhere(self._mode).props("dense outlined options-dense").classes("lab-full")
        self._mode.mark("Schedules")
        self._words = ui.label().classes("lab-small").props('role="status"')
        self.show(None, "")

    @property
    def value(self) -> ScheduleMode | None:
        """The chosen mode; None if there is nothing to choose."""
        return self._mode.value if self._mode.visible else None

    def show(self, run: RunRecord | None, typed: str) -> None:
        """Show what a budget does to a run that has begun."""
        self._run, self._typed = run, typed
        self._mode.set_visibility(self._sentence("hold") != self._sentence("stretch"))
        self._explain()

    def _explain(self) -> None:
        sentence = self._sentence(self._mode.value)
        self._words.set_text(sentence or "")
        self._words.set_visibility(sentence is not None)

    def _sentence(self, mode: ScheduleMode) -> str | None:
        run, total = self._run, read_whole(self._typed)
        config = readable_config(run) if run is not None else None
        if run is None or config is None or not isinstance(total, int):
            return None
        done = run.progress.timesteps
        if not done or total < done or total == run.total_timesteps:
            return None
        return describe_extension(config, total, mode, at=done)
