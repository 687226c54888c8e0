"""The panel of evaluations: numbers and charts of the latest one, and the list of all."""

from collections.abc import Sequence

from nicegui import ui

from app.evaluation import Evaluation, EvaluationStatus
from app.protocol import SeedFamily
from components.base import (
    NOT_MEASURED,
    EmptyState,
    SteadyRows,
    format_number,
    format_time,
    quiet_button,
)
from components.evaluation.evaluation_chart import Plane, chart_with_downloads
from components.evaluation.evaluation_video import clips_text, video_url
from components.evaluation.state import EvaluationState

_SHOWN = 8
_CELLS = ("Mean return", "Median", "Length", "Ended")
_FAMILIES = {
    SeedFamily.SELECTION: "on selection seeds, on which earlier versions chose the best policy",
    SeedFamily.TEST: "on test seeds",
    SeedFamily.FINAL: "on the final seeds",
}


class EvaluationPanel:
    """Shows the evaluations of `state`; redraws only what changed."""

    def __init__(self, state: EvaluationState) -> None:
        self._state = state
        self._drawn: Sequence[Evaluation] | None = None
        self._charted: str | None = None
        self._empty = EmptyState(
            "No evaluation yet", "Press Test to evaluate the policy on new episodes."
        )
        with ui.element("div").classes("lab-stack") as self._details:
            with ui.element("div").classes("lab-cells"):
                self._numbers = {name: _cell(name) for name in _CELLS}
                with ui.element("div") as self._success:
                    self._success_rate = _cell("Success rate")
            self._custom = ui.element("div").classes("lab-cells")
            self._custom.props('aria-label="Metrics of the evaluation code"')
            self._conditions = ui.label().classes("lab-small lab-padded")
            with ui.element("div").classes("lab-figures"):
                self._distribution = chart_with_downloads("distribution", "Returns")
                self._traces = chart_with_downloads("traces", "Reward and length by episode")
                self._visits = chart_with_downloads("visits", "State visits")
        box = ui.element("ul").classes("lab-tests").props('aria-label="Past evaluations"')
        self._rows = SteadyRows(box, self._row)

    def show(self) -> None:
        """Draw what changed since the last call."""
        items = [*self._state.items][:_SHOWN]
        if items == self._drawn:
            return
        self._drawn = items
        latest = self._state.latest
        self._empty.set_visibility(not items)
        self._details.set_visibility(latest is not None)
        if latest is not None and latest.id != self._charted:
            self._show_numbers(latest)
            self._distribution.show(latest)
            self._traces.show(latest)
            self._show_visits(latest)
        self._charted = latest.id if latest else None
        self._rows.show(items)

    def _show_numbers(self, evaluation: Evaluation) -> None:
        truncated = (evaluation.terminations or {}).get("truncated", 0)
        ended = {0: "all terminated", evaluation.episodes: "all truncated"}
        self._numbers["Mean return"].set_text(mean_text(evaluation))
        self._numbers["Median"].set_text(format_number(evaluation.median_return, 1))
        self._numbers["Length"].set_text(format_number(evaluation.mean_length, 1))
        self._numbers["Ended"].set_text(ended.get(truncated, f"{truncated} truncated"))
        rate = evaluation.success_rate
        self._success_rate.set_text("" if rate is None else f"{rate:.0%}")
        self._success.set_visibility(rate is not None)
        self._conditions.set_text(self._words_about(evaluation))
        self._custom.clear()
        self._custom.set_visibility(bool(evaluation.custom))
        with self._custom:
            for name, value in (evaluation.custom or {}).items():
                _cell(name).set_text(format_number(value, 3))

    def _words_about(self, evaluation: Evaluation) -> str:
        normalized = self._state.human_normalized(evaluation)
        human = "" if normalized is None else f" Human-normalized {normalized:.2f}."
        return _conditions(evaluation) + human

    def _show_visits(self, evaluation: Evaluation) -> None:
        spec = self._state.environment
        plane = Plane.of(spec) if spec is not None else None
        video = evaluation.video
        has_steps = evaluation.has_video and video is not None and video.has_steps
        self._visits.figure.set_visibility(plane is not None and has_steps)
        if plane is not None and has_steps:
            self._visits.show_plane(evaluation, plane)

    def _row(self, evaluation: Evaluation) -> None:
        with ui.element("li"):
            with ui.element("div").classes("lab-tests-words"):
                title = f"{format_time(evaluation.created_at)} · {_result(evaluation)}"
                ui.label(title).classes("lab-mono")
                if text := evaluation.error or evaluation.video_note or "":
                    is_bad = evaluation.status is EvaluationStatus.FAILED
                    ui.label(text).classes("lab-error" if is_bad else "lab-small")
            with ui.element("div").classes("lab-row-actions"):
                if evaluation.has_video:
                    self._video_actions(evaluation)
                elif evaluation.video is not None:
                    ui.label("video removed").classes("lab-small")

    def _video_actions(self, evaluation: Evaluation) -> None:
        about = f"of {format_time(evaluation.created_at)}"
        quiet_button("Play", lambda: self._state.play(evaluation), label=about)
        link = ui.element("a").classes("lab-small")
        link.props(f'href="{video_url(evaluation)}?download=true" download')
        with link:
            ui.label("Download").classes("lab-inline")
        pin = "Unpin" if evaluation.pinned else "Pin"
        with quiet_button(pin, lambda: self._state.pin(evaluation), label=about):
            ui.tooltip("A pinned video is never removed for newer ones.")


def mean_text(evaluation: Evaluation) -> str:
    """Format the mean and its interval."""
    if evaluation.mean_return is None:
        return NOT_MEASURED
    mean = format_number(evaluation.mean_return, 1)
    if evaluation.ci95 is None:
        return mean
    low, high = (format_number(edge, 1) for edge in evaluation.ci95)
    return f"{mean} ({low} to {high})"


def _cell(name: str) -> ui.label:
    with ui.element("div").classes("lab-cell"):
        ui.label(name).classes("lab-label")
        return ui.label(NOT_MEASURED).classes("lab-number is-words").mark(f"test {name}")


def _result(evaluation: Evaluation) -> str:
    if evaluation.kind == "recording":
        is_done = evaluation.status is EvaluationStatus.COMPLETED
        return f"recording · {mean_text(evaluation) if is_done else evaluation.status}"
    if evaluation.kind == "evolution":
        return f"evolution · {clips_text(evaluation)}"
    if evaluation.status is EvaluationStatus.RUNNING:
        return f"running · {evaluation.played} of {evaluation.episodes} episodes"
    if evaluation.status is not EvaluationStatus.COMPLETED:
        return str(evaluation.status)
    kind = "final evaluation · " if evaluation.is_final else ""
    return f"{kind}{evaluation.episodes} episodes · {mean_text(evaluation)}"


def _conditions(evaluation: Evaluation) -> str:
    """Describe the policy, the episodes and the conditions of the numbers."""
    parts = [f"{evaluation.episodes} episodes" if evaluation.episodes != 1 else "1 episode"]
    if evaluation.seeds:
        family, (first, last) = evaluation.seed_family, (evaluation.seeds[0], evaluation.seeds[-1])
        parts.append(f"{_FAMILIES[family] if family else 'on own seeds'} ({first} to {last})")
    parts.append("deterministic actions" if evaluation.deterministic else "sampled actions")
    if evaluation.timesteps is not None:
        parts.append(f"after {evaluation.timesteps:,} training steps")
    if evaluation.ci95 is not None:
        low, high = evaluation.ci95
        parts.append(f"95 % interval {low:,.1f} to {high:,.1f}")
    if evaluation.cut_in_words is not None:
        parts.append(evaluation.cut_in_words)
    for word, names in (("without", evaluation.left_out), ("with", evaluation.disturbances)):
        if names:
            parts.append(f"{word} " + ", ".join(name.replace("_", " ") for name in names))
    return ", ".join(parts) + "."
