"""The panel of tests: what the latest one says, as numbers and charts, and the earlier ones."""

from collections.abc import Sequence

from nicegui import ui

from app.evaluation.evaluation import Evaluation, EvaluationStatus
from components.base.buttons import quiet_button
from components.base.metrics import NOT_MEASURED, format_number
from components.base.panel import EmptyState
from components.base.steady_rows import SteadyRows
from components.base.times import moment
from components.evaluation.evaluation_chart import Plane, chart_with_downloads
from components.evaluation.evaluation_desk import EvaluationDesk
from components.evaluation.evaluation_video import moments_words, video_url

_SHOWN = 8
_CELLS = ("Mean return", "Median", "Length", "Ended")


class EvaluationPanel:
    """Draws what the desk knows; nothing is drawn anew unless it changed."""

    def __init__(self, desk: EvaluationDesk) -> None:
        self._desk = desk
        self._drawn: Sequence[Evaluation] | None = None
        self._charted: str | None = None
        self._empty = EmptyState(
            "Not tested yet", "Press Test to see what the policy is worth on fresh episodes."
        )
        with ui.element("div").classes("lab-stack") as self._found:
            with ui.element("div").classes("lab-cells"):
                self._numbers = {name: _cell(name) for name in _CELLS}
            self._custom = ui.element("div").classes("lab-cells")
            self._custom.props('aria-label="Numbers of the evaluation code"')
            self._how = ui.label().classes("lab-small lab-padded")
            with ui.element("div").classes("lab-figures"):
                self._distribution = chart_with_downloads("distribution", "Returns")
                self._traces = chart_with_downloads("traces", "Reward and length by episode")
                self._visits = chart_with_downloads("visits", "State visits")
        box = ui.element("ul").classes("lab-tests").props('aria-label="Tests"')
        self._rows = SteadyRows(box, self._row)

    def show(self) -> None:
        """Draw what is new."""
        items = [*self._desk.items][:_SHOWN]
        if items == self._drawn:
            return
        self._drawn = items
        latest = self._desk.latest
        self._empty.set_visibility(not items)
        self._found.set_visibility(latest is not None)
        if latest is not None and latest.id != self._charted:
            self._show_numbers(latest)
            self._distribution.show(latest)
            self._traces.show(latest)
            self._show_visits(latest)
        self._charted = latest.id if latest else None
        self._rows.show(items)

    def _show_numbers(self, test: Evaluation) -> None:
        cut = (test.terminations or {}).get("truncated", 0)
        ended = {0: "by themselves", test.episodes: "by time limit"}
        self._numbers["Mean return"].set_text(mean_words(test))
        self._numbers["Median"].set_text(format_number(test.median_return, 1))
        self._numbers["Length"].set_text(format_number(test.mean_length, 1))
        self._numbers["Ended"].set_text(ended.get(cut, f"{cut} by time limit"))
        self._how.set_text(_how(test))
        self._custom.clear()
        self._custom.set_visibility(bool(test.custom))
        with self._custom:
            for name, value in (test.custom or {}).items():
                _cell(name).set_text(format_number(value, 3))

    def _show_visits(self, test: Evaluation) -> None:
        spec = self._desk.environment
        plane = Plane.of(spec) if spec is not None else None
        has_steps = test.has_video and test.video is not None and test.video.has_steps
        self._visits.figure.set_visibility(plane is not None and has_steps)
        if plane is not None and has_steps:
            self._visits.show_plane(test, plane)

    def _row(self, test: Evaluation) -> None:
        with ui.element("li"):
            with ui.element("div").classes("lab-tests-words"):
                ui.label(f"{moment(test.created_at)} · {_what(test)}").classes("lab-mono")
                if text := test.error or test.video_note or "":
                    is_bad = test.status is EvaluationStatus.FAILED
                    ui.label(text).classes("lab-error" if is_bad else "lab-small")
            with ui.element("div").classes("lab-row-actions"):
                if test.has_video:
                    self._video_actions(test)
                elif test.video is not None:
                    ui.label("video removed").classes("lab-small")

    def _video_actions(self, test: Evaluation) -> None:
        about = f"of {moment(test.created_at)}"
        quiet_button("Play", lambda: self._desk.play(test), label=about)
        link = ui.element("a").classes("lab-small")
        link.props(f'href="{video_url(test)}?download=true" download')
        with link:
            ui.label("Download").classes("lab-inline")
        pin = quiet_button(
            "Unpin" if test.pinned else "Pin", lambda: self._desk.pin(test), label=about
        )
        with pin:
            ui.tooltip("A pinned video stays, however many newer ones there are.")


def mean_words(test: Evaluation) -> str:
    """Write the mean and half the width of its interval."""
    if test.mean_return is None:
        return NOT_MEASURED
    mean = format_number(test.mean_return, 1)
    if test.ci95 is None:
        return mean
    low, high = test.ci95
    return f"{mean} ± {format_number((high - low) / 2, 1)}"


def _cell(name: str) -> ui.label:
    with ui.element("div").classes("lab-cell"):
        ui.label(name).classes("lab-label")
        return ui.label(NOT_MEASURED).classes("lab-number is-words").mark(f"test {name}")


def _what(test: Evaluation) -> str:
    if test.kind == "recording":
        is_done = test.status is EvaluationStatus.COMPLETED
        return f"recording · {mean_words(test) if is_done else test.status}"
    if test.kind == "evolution":
        return f"evolution · {moments_words(test)}"
    if test.status is EvaluationStatus.RUNNING:
        return f"running · {test.played} of {test.episodes} episodes"
    if test.status is not EvaluationStatus.COMPLETED:
        return str(test.status)
    return f"{test.episodes} episodes · {mean_words(test)}"


def _how(test: Evaluation) -> str:
    """Say what the numbers are of."""
    parts = [f"{test.episodes} episodes" if test.episodes != 1 else "1 episode"]
    if test.timesteps is not None:
        parts.append(f"after {test.timesteps:,} steps of training")
    if test.ci95 is not None:
        low, high = test.ci95
        parts.append(f"95 % interval {low:,.1f} to {high:,.1f}")
    if test.left_out:
        parts.append("without " + ", ".join(name.replace("_", " ") for name in test.left_out))
    return ", ".join(parts) + "."
