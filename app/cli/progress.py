"""Show how far runs have come: bars on a terminal, lines elsewhere."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Sequence

from app.cli.console import duration, number, say
from app.runs.state.feed import RunFeed
from storage.records.runs import RunRecord, RunStatus

_EVERY_S = 0.2
_BAR_WIDTH = 10
_TENTHS = 10
_UP_AND_CLEAR = "\x1b[{lines}A\x1b[J"


async def show_progress(feeds: Sequence[RunFeed], note: Callable[[], str]) -> None:
    """Show the runs, and a note if there is one, until all have ended."""
    display = Bars() if sys.stdout.isatty() else Lines()
    is_over = False
    while not is_over:
        await asyncio.sleep(_EVERY_S)
        is_over = all(feed.run.status.is_over for feed in feeds)
        display.show([feed.run for feed in feeds], note())


class Bars:
    """One bar for each run, drawn over the last ones."""

    def __init__(self) -> None:
        self._drawn = 0

    def show(self, runs: Sequence[RunRecord], note: str) -> None:
        """Draw the bars, and the note below them."""
        columns, rows = shutil.get_terminal_size()
        shown = runs if len(runs) < rows else [run for run in runs if run.status.has_worker]
        lines = [f"{bar(run.share_done)} {_briefly(run)}"[: columns - 1] for run in shown]
        lines += [note] if note else []
        back = _UP_AND_CLEAR.format(lines=self._drawn) if self._drawn else ""
        sys.stdout.write(back + "".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._drawn = len(lines)


class Lines:
    """A line for each run whenever its status is new or another tenth is done."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[RunStatus, int]] = {}
        self._note = ""

    def show(self, runs: Sequence[RunRecord], note: str) -> None:
        """Say what is new."""
        if note != self._note:
            self._note = note
            say(note)
        for run in runs:
            where = (run.status, int(run.share_done * _TENTHS))
            if self._told.get(run.id) != where:
                self._told[run.id] = where
                say(describe(run))


def bar(share: float) -> str:
    """Draw how much of the whole is done."""
    full = int(share * _BAR_WIDTH)
    return f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}]"


def describe(run: RunRecord) -> str:
    """Say where a run stands, in words."""
    latest = run.latest or {}
    steps = f"{run.progress.timesteps:,} of {run.total_timesteps:,} steps"
    parts = [f"{run.share_done:4.0%}  seed {run.config['seed']}  {run.status}", steps]
    if run.status is RunStatus.RUNNING:
        parts.append(f"{number(latest.get('fps'), 0)} steps/s")
    parts.append(f"mean reward {number(latest.get('mean_reward'))}")
    if run.status is RunStatus.RUNNING:
        parts.append(f"{duration(run.eta_s)} left")
    return ", ".join(parts)


def _briefly(run: RunRecord) -> str:
    """Say the same within the width of a usual terminal."""
    latest = run.latest or {}
    steps = f"{_rounded(run.progress.timesteps)}/{_rounded(run.total_timesteps)}"
    reward = f"reward {number(latest.get('mean_reward'))}"
    parts = [f"{run.share_done:4.0%}", f"seed {run.config['seed']}", steps, reward]
    if run.status is RunStatus.RUNNING:
        parts += [f"{number(latest.get('fps'), 0)}/s", f"{duration(run.eta_s)} left"]
    else:
        parts.append(run.status)
    return "  ".join(parts)


def _rounded(steps: int) -> str:
    for unit, name in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if steps >= unit:
            return f"{steps / unit:.3g}{name}"
    return str(steps)
