"""Progress of runs: bars on a terminal, lines elsewhere."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Sequence

from app.cli.console import duration, number, say
from app.run_config import seed_of
from app.runs.state import RunFeed
from storage.records import RunRecord, RunStatus

_EVERY_S = 0.2
_BAR_WIDTH = 10
_TENTHS = 10
_UP_AND_CLEAR = "\x1b[{lines}A\x1b[J"


async def show_progress(feeds: Sequence[RunFeed], note: Callable[[], str]) -> None:
    """Show the progress of runs, with a note if there is one, until all have ended."""
    display = Bars() if sys.stdout.isatty() else Lines()
    is_over = False
    while not is_over:
        await asyncio.sleep(_EVERY_S)
        is_over = all(feed.run.status.is_over for feed in feeds)
        display.show([feed.run for feed in feeds], note())


class Bars:
    """One bar per run, redrawn in place."""

    def __init__(self) -> None:
        self._drawn = 0

    def show(self, runs: Sequence[RunRecord], note: str) -> None:
        """Draw the bars with the note below."""
        columns, rows = shutil.get_terminal_size()
        shown = runs if len(runs) < rows else [run for run in runs if run.status.has_worker]
        lines = [f"{bar(run.share_done)} {_describe_short(run)}"[: columns - 1] for run in shown]
        lines += [note] if note else []
        back = _UP_AND_CLEAR.format(lines=self._drawn) if self._drawn else ""
        sys.stdout.write(back + "".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._drawn = len(lines)


class Lines:
    """A line for a run whenever its status changes or another tenth is done."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[RunStatus, int]] = {}
        self._note = ""

    def show(self, runs: Sequence[RunRecord], note: str) -> None:
        """Print changes."""
        if note != self._note:
            self._note = note
            say(note)
        for run in runs:
            state = (run.status, int(run.share_done * _TENTHS))
            if self._shown.get(run.id) != state:
                self._shown[run.id] = state
                say(describe(run))


def bar(share: float) -> str:
    """Return a progress bar as text."""
    full = int(share * _BAR_WIDTH)
    return f"[{'#' * full}{'.' * (_BAR_WIDTH - full)}]"


def describe(run: RunRecord) -> str:
    """Return the state of a run as text."""
    latest = run.latest or {}
    steps = f"{run.progress.timesteps:,} of {run.total_timesteps:,} steps"
    parts = [f"{run.share_done:4.0%}  seed {seed_of(run)}  {run.status}", steps]
    if run.status is RunStatus.RUNNING:
        parts.append(f"{number(latest.get('fps'), 0)} steps/s")
    parts.append(f"mean reward {number(latest.get('mean_reward'))}")
    if run.status is RunStatus.RUNNING:
        parts.append(f"{duration(run.eta_s)} left")
    return ", ".join(parts)


def _describe_short(run: RunRecord) -> str:
    """Return the state of a run as text that fits a usual terminal."""
    latest = run.latest or {}
    steps = f"{_rounded(run.progress.timesteps)}/{_rounded(run.total_timesteps)}"
    reward = f"reward {number(latest.get('mean_reward'))}"
    parts = [f"{run.share_done:4.0%}", f"seed {seed_of(run)}", steps, reward]
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
