"""The reward of the shown run, and the button to branch it with another reward."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from app.run_config import RunConfig, readable_config
from app.runs.state import RunFeed
from components.base import compact_button
from storage.records import RunStatus


class RunReward:
    """A row that opens the reward, at the failed line if its code failed."""

    def __init__(
        self, *, on_show: Callable[[], Awaitable[None]], on_fix: Callable[[int], Awaitable[None]]
    ) -> None:
        """`on_fix` opens the code at a line."""
        self._on_fix = on_fix
        self._line: int | None = None
        with ui.element("div").classes("lab-run-reward") as self._box:
            self._description = ui.label().classes("lab-small lab-grow")
            self._fix = compact_button("Fix it", self._open_line)
            self._show = compact_button("Reward", on_show)
            with self._show:
                self._why_not = ui.tooltip("")

    def show(self, feed: RunFeed | None, *, refusal: str | None) -> None:
        """Show a run's reward; `refusal` is the reason why the user may not write code."""
        run = feed.run if feed and not feed.is_deleted else None
        self._box.set_visibility(run is not None)
        if feed is None or run is None:
            return
        config = readable_config(run)
        self._show.set_visibility(config is not None)
        is_custom = config is not None and config.reward_code is not None
        self._line = _failed_line(feed) if is_custom and refusal is None else None
        self._description.set_text(_description(config))
        self._show.set_text("Show reward" if is_custom else "Branch with a custom reward")
        # A run without a policy can't be branched.
        can_branch = run.progress.timesteps > 0 and refusal is None
        self._show.set_enabled(is_custom or can_branch)
        why_not = "" if is_custom or can_branch else refusal or "It has no policy yet."
        self._why_not.set_text(why_not)
        self._why_not.set_visibility(bool(why_not))
        self._fix.set_visibility(self._line is not None)
        self._fix.set_text(f"Fix line {self._line}")

    async def _open_line(self) -> None:
        if self._line is not None:
            await self._on_fix(self._line)


def _description(config: RunConfig | None) -> str:
    if config is None:
        return "This version can't read the run's configuration, and so not its reward."
    kind = "a custom reward" if config.reward_code is not None else "the environment's reward"
    return f"Learns from {kind}."


def _failed_line(feed: RunFeed) -> int | None:
    """Return the line of the reward's code that made a run fail, if any."""
    if feed.run.status is not RunStatus.FAILED:
        return None
    failures = (event for event in reversed(feed.events) if event.event_type == RunStatus.FAILED)
    line = next((event.data.get("line") for event in failures), None)
    return line if isinstance(line, int) else None
