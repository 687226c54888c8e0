"""One finding of the doctor, and what can be done about it."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from nicegui import ui

from app.analysis.doctor.proposals import applicable_now, describe_change
from app.analysis.insights.insight import Insight
from app.run_config.config import RunRequest
from app.run_config.derive import derive
from storage.errors import LabError
from storage.records.runs import JsonObject, RunRecord

Train = Callable[[RunRequest], Awaitable[None]]
Change = Callable[[dict[str, Any]], Awaitable[None]]


class InsightCard:
    """What was seen, what it means, what to do; and a button that does it."""

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
                self._new_run = _button("Apply as a new run", self._ask_for_new_run)
                self._now = _button("Apply now", self._ask_for_now)
            self._question = Question()
            self._error = ui.label().classes("lab-error").props('role="alert"')

    def show(self, insight: Insight, run: RunRecord | None, place: int) -> None:
        """Say something, or the same with newer numbers, at a place of the list."""
        if place != self._place():
            self._box.move(target_index=place)
        if insight != self._insight:
            self._insight = insight
            self._write(insight)
        self.offer(run)

    def offer(self, run: RunRecord | None) -> None:
        """Offer what can be done with the run."""
        self._run = run
        change = self._insight.change if self._insight else None
        is_news = bool(run and change and describe_change(run.config, change))
        self._new_run.set_visibility(is_news)
        trains = run is not None and run.status.has_worker
        self._now.set_visibility(is_news and trains and applicable_now(change) is not None)

    def open(self) -> None:
        """Unfold it."""
        self._box.set_value(True)

    def delete(self) -> None:
        """Take it off the page."""
        self._box.delete()

    def _place(self) -> int:
        parent = self._box.parent_slot
        return parent.children.index(self._box) if parent else 0

    def _write(self, insight: Insight) -> None:
        first, last = insight.evidence.window
        numbers = ", ".join(
            f"{name.replace('_', ' ')} {value:,.4g}"
            for name, value in insight.evidence.numbers.items()
        )
        self._box.set_text(insight.title)
        self._box.classes(
            add="is-loud" if insight.severity.is_loud else "",
            remove="" if insight.severity.is_loud else "is-loud",
        )
        self._box.props(f'data-code="{insight.code}"')
        self._message.set_text(insight.message)
        self._evidence.set_text(
            f"{insight.evidence.metric}, steps {first:,} to {last:,}: {numbers}. "
            f"Found at step {insight.at:,}."
        )
        self._suggestion.set_text(insight.suggestion)

    def _show_window(self) -> None:
        """Tell the page's charts which stretch to show; it is up to them whether they do."""
        if self._insight is None:
            return
        first, last = self._insight.evidence.window
        detail = {"metric": self._insight.evidence.metric, "first": first, "last": last}
        ui.run_javascript(
            "window.dispatchEvent(new CustomEvent('show_window', "
            f"{{detail: {json.dumps(detail)}}}))"
        )

    def _ask_for_new_run(self) -> None:
        if self._insight is not None and self._insight.change and self._run is not None:
            change, config = self._insight.change, self._run.config
            rows = describe_change(config, change)
            self._question.ask(
                "A new run with", rows, "Start it", lambda: self._train(config, change)
            )

    def _ask_for_now(self) -> None:
        values = applicable_now(self._insight.change if self._insight else None)
        if values is not None and self._run is not None:
            rows = describe_change(self._run.config, {"hyperparameters": values})
            self._question.ask(
                "This run goes on with", rows, "Change it", lambda: self._change(values)
            )

    async def _train(self, config: JsonObject, change: JsonObject) -> None:
        await self._do(self._on_train(derive(config, change, keeps_seed=True)))

    async def _change(self, values: JsonObject) -> None:
        await self._do(self._on_change(dict(values)))

    async def _do(self, wish: Awaitable[None]) -> None:
        try:
            await wish
        except LabError as error:
            self._error.set_text(str(error))
            return
        self._error.set_text("")


class Question:
    """Asks in place whether to do something, and says what that would change."""

    def __init__(self) -> None:
        self._do: Callable[[], Awaitable[None]] | None = None
        with ui.element("div").classes("lab-question") as self._box:
            self._title = ui.label().classes("lab-small")
            self._rows = ui.element("dl")
            with ui.element("div").classes("lab-insight-actions"):
                self._yes = ui.button("Start it", on_click=self._answer, color=None)
                self._yes.props("unelevated").classes("lab-button lab-compact lab-primary")
                _button("Cancel", self._close)
        self._close()

    def ask(
        self,
        title: str,
        rows: Sequence[tuple[str, str, str]],
        yes: str,
        do: Callable[[], Awaitable[None]],
    ) -> None:
        """Show what will change and wait for an answer."""
        self._do = do
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

    async def _answer(self) -> None:
        self._close()
        if self._do is not None:
            await self._do()

    def _close(self) -> None:
        self._box.set_visibility(False)


def _button(text: str, do: Callable[[], object]) -> ui.button:
    button = ui.button(text, on_click=do, color=None)
    return button.props("unelevated").classes("lab-button lab-compact lab-quiet")
