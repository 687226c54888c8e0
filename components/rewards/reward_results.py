"""What a check of a reward found: tricks that pay, what each term gives, how long a call takes."""

from collections.abc import Iterator, Sequence

from nicegui import ui

from app.authoring.rewards.report import RewardReport, Trajectories
from app.protocol.messages import Term
from components.base.explain import explained
from components.base.metrics import NOT_MEASURED
from components.base.panel import EmptyState, heading
from components.base.table import Table

_WIDTH, _HEIGHT = 72, 20
_TERMS = ("Term", "Mean", "Std", "Min", "Max", "Share", "Outliers", "Values")
_PAID = ("Who acts", "Paid", "True return", "")


class RewardResults:
    """Beside the code; says first what to look at."""

    def __init__(self) -> None:
        self._empty = EmptyState("Not checked yet", "")
        with ui.element("div").classes("lab-reward-results").props('aria-live="polite"') as found:
            self._found = found
        self.clear()

    def clear(self) -> None:
        """Say that nothing is known of this code."""
        self._say(
            "Not checked yet",
            "Check runs the code in a locked worker on recorded episodes, and says what it pays "
            "for before anything is trained.",
        )

    def wait(self) -> None:
        """Say that a check is under way."""
        self._say("Checking", "The first check of an environment records its episodes.")

    def fail(self, sentence: str) -> None:
        """Say why there is no result."""
        self._say("Not checked", sentence)

    def show(self, report: RewardReport) -> None:
        """Show what was found."""
        if not report.is_ok:
            self._say("It can't be used like this", "The problems are listed below the code.")
            return
        self._empty.set_visibility(False)
        self._found.clear()
        with self._found:
            _findings(report)
            _facts(report)
            _terms(report.terms)
            _paid(report)

    def _say(self, title: str, hint: str) -> None:
        self._found.clear()
        self._empty.say(title, hint)
        self._empty.set_visibility(True)


def _findings(report: RewardReport) -> None:
    if not report.findings:
        ui.label("Nothing speaks against it.").classes("lab-name")
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
        _cell("Part of a step", NOT_MEASURED if share is None else f"{share:.0%}", "reward_share")
        _cell("Rank agreement", _number(report.rank_agreement), "rank_agreement")


def _cell(name: str, value: str, term: str) -> None:
    with ui.element("div").classes("lab-cell"):
        ui.label(name).classes("lab-label")
        ui.label(value).classes("lab-number").mark(name)
        explained(term)


def _terms(terms: Sequence[Term]) -> None:
    if not terms:
        return
    heading("What each step pays")
    explained("reward_terms")
    with ui.element("div").classes("lab-reward-table"):
        table = Table(*_TERMS)
        with table.body:
            for term in terms:
                _term(table, term)


def _term(table: Table, term: Term) -> None:
    values = (term.mean, term.std, term.min, term.max)
    with table.row():
        table.text("", term.name, classes="lab-mono is-name")
        for title, value in zip(_TERMS[1:5], values, strict=True):
            table.text(title, _number(value), classes="lab-mono is-number")
        table.text("Share", f"{term.share:.0%}", classes="lab-mono is-number")
        table.text("Outliers", f"{term.outliers:,}", classes="lab-mono is-number")
        with table.cell("Values", classes="is-values"):
            _histogram(term)


def _histogram(term: Term) -> None:
    """Draw how often values are in each part of the range."""
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


def _paid(report: RewardReport) -> None:
    """List who is paid how much, and mark the tricks that pay more than acting well."""
    tried = {probe.trajectories.name: probe.is_hack for probe in report.probes}
    best = [one for one in report.trajectories if one.name not in tried]
    rows = [(one, False) for one in best]
    rows += [(probe.trajectories, probe.is_hack) for probe in report.probes]
    rows.sort(key=lambda row: -row[0].true_return)
    if not rows:
        return
    heading("What an episode is paid")
    explained("reward_probes")
    with ui.element("div").classes("lab-reward-table"):
        table = Table(*_PAID)
        with table.body:
            for one, is_hack in rows:
                _payment(table, one, is_hack=is_hack)


def _payment(table: Table, one: Trajectories, *, is_hack: bool) -> None:
    with table.row():
        with table.cell("", classes="lab-mono is-name is-long"):
            ui.label(one.name).classes("lab-inline")
            ui.tooltip(f"{one.origin} {one.episodes} episodes, {one.mean_length:,.0f} steps each.")
        table.text("Paid", _number(one.mean_return), classes="lab-mono is-number")
        table.text("True return", _number(one.true_return), classes="lab-mono is-number")
        with table.cell(""):
            if is_hack:
                ui.label("Hackable").classes("lab-badge is-bad")


def _number(value: float | None, unit: str = "") -> str:
    """Return three digits; what is next to nothing is 0."""
    return NOT_MEASURED if value is None else f"{round(value, 4) + 0.0:,.3g}{unit}"
