"""The card of an insight, with buttons that apply its suggestion."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui

from app.analysis.doctor import applicable_now, describe_change
from app.analysis.insights import Insight
from app.run_config import RunConfig, RunRequest, config_of, derive, readable_config
from storage import LabError
from storage.records import JsonObject, RunRecord

Train = Callable[[RunRequest], Awaitable[None]]
Change = Callable[[dict[str, Any]], Awaitable[None]]


class InsightCard:
    """Shows the message, evidence and suggestion, and buttons that apply the suggestion."""

    def __init__(self, *, on_train: Train, on_change: Change) -> None:
        self._on_train = on_train
        self._on_change = on_change
        self._insight: Insight | None = None
        self._run: RunRecord | None = None
        self._box = ui.expansion().props("dense dense-toggle").classes("lab-insight")
        with self._box, ui.element("div").classes("lab-form"):
            self._message = ui.label()
            self._evidence = ui.label().classes("lab-small lab-evidence")
            self._suggestion = ui.label()
            with ui.element("div").classes("lab-insight-actions"):
                self._show = _button("Show on chart", self._show_window)
                self._new_run = _button("Apply as a new run", self._confirm_new_run)
                self._now = _button("Apply now", self._confirm_change)
            self._confirmation = Confirmation()
            self._error = ui.label().classes("lab-error").props('role="alert"')

    def show(self, insight: Insight, run: RunRecord | None, place: int) -> None:
        """Show an insight, or its newer numbers, at a position in the list."""
        if place != self._position():
            self._box.move(target_index=place)
        if insight != self._insight:
            self._insight = insight
            self._set_texts(insight)
        self.offer(run)

    def offer(self, run: RunRecord | None) -> None:
        """Show the actions that are possible in the current state of the run."""
        self._run = run
        change = self._insight.change if self._insight else None
        config = readable_config(run) if run is not None else None
        has_effect = bool(config and change and describe_change(config, change))
        self._new_run.set_visibility(has_effect)
        trains = run is not None and run.status.has_worker
        self._now.set_visibility(has_effect and trains and applicable_now(change) is not None)

    def open(self) -> None:
        """Expand the card."""
        self._box.set_value(True)

    def delete(self) -> None:
        """Remove the card from the page."""
        self._box.delete()

    def _position(self) -> int:
        parent = self._box.parent_slot
        return parent.children.index(self._box) if parent else 0

    def _set_texts(self, insight: Insight) -> None:
        first, last = insight.evidence.window
        numbers = ", ".join(
            f"{name.replace('_', ' ')} {value:,.4g}"
            for name, value in insight.evidence.numbers.items()
        )
        self._box.set_text(insight.title)
        self._box.classes(
            add="is-loud" if insight.severity.is_problem else "",
            remove="" if insight.severity.is_problem else "is-loud",
        )
        self._box.props(f'data-code="{insight.code}"')
        self._message.set_text(insight.message)
        self._evidence.set_text(
            f"{insight.evidence.metric}, steps {first:,} to {last:,}: {numbers}. "
            f"Found at step {insight.at:,}."
        )
        self._suggestion.set_text(insight.suggestion)

    def _show_window(self) -> None:
        """Ask the page's charts to show the insight's window of steps."""
        if self._insight is None:
            return
        first, last = self._insight.evidence.window
        detail = {"metric": self._insight.evidence.metric, "first": first, "last": last}
        ui.run_javascript(
            "window.dispatchEvent(new CustomEvent('show_window', "
            f"{{detail: {json.dumps(detail)}}}))"
        )

    def _confirm_new_run(self) -> None:
        if self._insight is not None and self._insight.change and self._run is not None:
            change, config = self._insight.change, config_of(self._run)
            rows = describe_change(config, change)
            self._confirmation.ask(
                "Start a new run with", rows, "Start run", lambda: self._train(config, change)
            )

    def _confirm_change(self) -> None:
        values = applicable_now(self._insight.change if self._insight else None)
        if values is not None and self._run is not None:
            rows = describe_change(config_of(self._run), {"hyperparameters": values})
            self._confirmation.ask(
                "Continue this run with", rows, "Apply change", lambda: self._change(values)
            )

    async def _train(self, config: RunConfig, change: JsonObject) -> None:
        await self._run_action(self._on_train(derive(config, change, keeps_seed=True)))

    async def _change(self, values: JsonObject) -> None:
        await self._run_action(self._on_change(dict(values)))

    async def _run_action(self, action: Awaitable[None]) -> None:
        try:
            await action
        except LabError as error:
            self._error.set_text(str(error))
            return
        self._error.set_text("")


class Confirmation:
    """Asks for a confirmation in place, and shows what would change."""

    def __init__(self) -> None:
        self._action: Callable[[], Awaitable[None]] | None = None
        with ui.element("div").classes("lab-question") as self._box:
            self._title = ui.label().classes("lab-small")
            self._rows = ui.element("dl")
            with ui.element("div").classes("lab-insight-actions"):
                self._yes = ui.button("Start run", on_click=self._confirm, color=None)
                self._yes.props("unelevated").classes("lab-button lab-compact lab-primary")
                _button("Cancel", self._close)
        self._close()

    def ask(
        self,
        title: str,
        rows: Sequence[tuple[str, str, str]],
        yes: str,
        action: Callable[[], Awaitable[None]],
    ) -> None:
        """Show the changes and the buttons; `action` runs if the user confirms."""
        self._action = action
        self._title.set_text(title)
        self._yes.set_text(yes)
        self._rows.clear()
        with self._rows:
            for name, before, after in rows:
                with ui.element("dt"):
                    ui.label(name)
                with ui.element("dd"):
                    ui.label(f"{after} instead of {before}")
        self._box.set_visibility(True)

    async def _confirm(self) -> None:
        self._close()
        if self._action is not None:
            await self._action()

    def _close(self) -> None:
        self._box.set_visibility(False)


def _button(text: str, on_click: Callable[[], object]) -> ui.button:
    button = ui.button(text, on_click=on_click, color=None)
    return button.props("unelevated").classes("lab-button lab-compact lab-quiet")
