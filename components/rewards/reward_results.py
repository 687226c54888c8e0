"""Results of a reward check: reward hacks, statistics per term, time per call."""

from collections.abc import Iterator, Sequence

from nicegui import ui

from app.authoring.rewards import RewardReport, Trajectories
from app.protocol import Term
from components.base import NOT_MEASURED, EmptyState, Table, explained, heading

_WIDTH, _HEIGHT = 72, 20
_TERM_COLUMNS = ("Term", "Mean", "Std", "Min", "Max", "Share", "Outliers", "Histogram")
_RETURN_COLUMNS = ("Policy", "Reward", "True return", "")


class RewardResults:
    """The result of a check next to the code, most important first."""

    def __init__(self) -> None:
        self._empty = EmptyState("Not checked yet", "")
        with ui.element("div").classes("lab-reward-results").props('aria-live="polite"') as found:
            self._found = found
        self.clear()

    def clear(self) -> None:
        """Show that the code hasn't been checked."""
        self._show_note(
            "Not checked yet",
            "Check runs the code in a sandboxed worker on recorded episodes and shows what it "
            "rewards, before any training.",
        )

    def wait(self) -> None:
        """Show that a check is running."""
        self._show_note("Checking", "The first check of an environment also records its episodes.")

    def fail(self, sentence: str) -> None:
        """Show why the check failed."""
        self._show_note("Not checked", sentence)

    def show(self, report: RewardReport) -> None:
        """Show the report of a check."""
        if not report.is_ok:
            self._show_note("The code has errors", "They are listed below the code.")
            return
        self._empty.set_visibility(False)
        self._found.clear()
        with self._found:
            _findings(report)
            _facts(report)
            _terms(report.terms)
            _returns(report)

    def _show_note(self, title: str, hint: str) -> None:
        self._found.clear()
        self._empty.say(title, hint)
        self._empty.set_visibility(True)


def _findings(report: RewardReport) -> None:
    if not report.findings:
        ui.label("No problems found.").classes("lab-name")
        return
    with ui.element("ul").classes("lab-reward-findings"):
        for finding in report.findings:
            with ui.element("li"):
                is_hack = finding.message.startswith("Hackable")
                ui.label(finding.message).classes("lab-error" if is_hack else "")


def _facts(report: RewardReport) -> None:
    with ui.element("div").classes("lab-cells is-reward"):
        _cell("Time per call", _number(report.microseconds, " µs"), "reward_call")
        share = report.step_share
        _cell("Share of a step", NOT_MEASURED if share is None else f"{share:.0%}", "reward_share")
        _cell("Rank agreement", _number(report.rank_agreement), "rank_agreement")


def _cell(name: str, value: str, term: str) -> None:
    with ui.element("div").classes("lab-cell"):
        ui.label(name).classes("lab-label")
        ui.label(value).classes("lab-number").mark(name)
        explained(term)


def _terms(terms: Sequence[Term]) -> None:
    if not terms:
        return
    heading("Reward per step")
    explained("reward_terms")
    with ui.element("div").classes("lab-reward-table"):
        table = Table(*_TERM_COLUMNS)
        with table.body:
            for term in terms:
                _term(table, term)


def _term(table: Table, term: Term) -> None:
    values = (term.mean, term.std, term.min, term.max)
    with table.row():
        table.text("", term.name, classes="lab-mono is-name")
        for title, value in zip(_TERM_COLUMNS[1:5], values, strict=True):
            table.text(title, _number(value), classes="lab-mono is-number")
        table.text("Share", f"{term.share:.0%}", classes="lab-mono is-number")
        table.text("Outliers", f"{term.outliers:,}", classes="lab-mono is-number")
        with table.cell("Histogram", classes="is-values"):
            _histogram(term)


def _histogram(term: Term) -> None:
    """Draw the histogram of a term."""
    words = (
        f"From {_number(term.min)} to {_number(term.max)}: {', '.join(map(str, term.histogram))}"
    )
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role=img aria-label="{words}"'
    with ui.element("svg").classes("lab-histogram").props(box):
        ui.element("path").props(f'd="{" ".join(_bars(term.histogram))}"')


def _bars(counts: Sequence[int]) -> Iterator[str]:
    most, width = max(counts, default=0) or 1, _WIDTH / max(len(counts), 1)
    for place, count in enumerate(counts):
        height = count / most * _HEIGHT
        left = place * width
        yield f"M{left:.1f} {_HEIGHT}v{-height:.1f}h{width - 1:.1f}v{height:.1f}z"


def _returns(report: RewardReport) -> None:
    """List the reward per policy, and mark the probes that earn more than good trajectories."""
    is_hack_by_name = {probe.trajectories.name: probe.is_hack for probe in report.probes}
    best = [one for one in report.trajectories if one.name not in is_hack_by_name]
    rows = [(one, False) for one in best]
    rows += [(probe.trajectories, probe.is_hack) for probe in report.probes]
    rows.sort(key=lambda row: -row[0].true_return)
    if not rows:
        return
    heading("Reward per episode")
    explained("reward_probes")
    with ui.element("div").classes("lab-reward-table"):
        table = Table(*_RETURN_COLUMNS)
        with table.body:
            for one, is_hack in rows:
                _return_row(table, one, is_hack=is_hack)


def _return_row(table: Table, one: Trajectories, *, is_hack: bool) -> None:
    with table.row():
        with table.cell("", classes="lab-mono is-name is-long"):
            ui.label(one.name).classes("lab-inline")
            ui.tooltip(f"{one.origin} {one.episodes} episodes, {one.mean_length:,.0f} steps each.")
        table.text("Reward", _number(one.mean_return), classes="lab-mono is-number")
        table.text("True return", _number(one.true_return), classes="lab-mono is-number")
        with table.cell(""):
            if is_hack:
                ui.label("Hackable").classes("lab-badge is-bad")


def _number(value: float | None, unit: str = "") -> str:
    """Format with three significant digits; values below 0.00005 become 0."""
    return NOT_MEASURED if value is None else f"{round(value, 4) + 0.0:,.3g}{unit}"
