"""Send metrics, progress and notes of a training to the web process."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from app.protocol import Channel, messages
from app.worker.training.metric_names import finite

_REPORT_EVERY_S = 0.4
_SPEED_REPORTS = 12
"""The speed is averaged over the last 12 reports, about five seconds."""
_LINES_PER_MESSAGE = 500
_LINES_WITH_TERMS = 50
_LINE_EVERY_S = 2.0
"""After this time without an episode or an update, send a line with only steps and speed."""


class MetricsReporter:
    """Collects lines of metrics and sends them in batches, which keeps reporting cheap."""

    def __init__(
        self,
        channel: Channel,
        progress: Callable[[float | None], messages.Progressed],
        *,
        total: int,
        lines: int,
    ) -> None:
        """`progress` gets the speed and returns the progress; `lines` are those before a resume."""
        self._channel = channel
        self._progress = progress
        self.total = total
        """The budget in steps."""
        self.line_count = lines
        """The number of lines, including those before a resume."""
        self._lines: list[messages.Line] = []
        self._speed: deque[tuple[float, int]] = deque(maxlen=_SPEED_REPORTS)
        self._reported = self._lines_at = time.perf_counter()

    def measure_speed(self, timesteps: int, *, restart: bool = False) -> None:
        """Add a point to the speed measurement; `restart` drops all earlier points."""
        if restart:
            self._speed.clear()
        self._speed.append((time.perf_counter(), timesteps))

    def is_due(self, now: float) -> bool:
        """Whether it is time for a report."""
        return now - self._reported >= _REPORT_EVERY_S

    def report(self, now: float, timesteps: int) -> None:
        """Send the collected lines and the progress."""
        self._reported = now
        self._speed.append((now, timesteps))
        if not self._lines and now - self._lines_at >= _LINE_EVERY_S:
            self.add_line()
        self.send_lines()
        self._channel.send(self._progress(self._fps()))

    def add_line(
        self,
        agents: dict[str, dict[str, messages.Number]] | None = None,
        terms: Mapping[str, float] | None = None,
        **values: Any,
    ) -> None:
        """Add a line of metrics for the next report."""
        self.line_count += 1
        progress = self._progress(self._fps())
        self._lines.append(
            messages.Line(
                t=datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z",
                timesteps=progress.timesteps,
                vec_steps=progress.vec_steps,
                updates=progress.updates,
                episode=progress.episodes,
                elapsed_s=progress.elapsed_s,
                fps=progress.fps,
                progress=min(1.0, progress.timesteps / self.total),
                values={name: finite(value) for name, value in values.items()},
                agents=agents or {},
                terms={name: finite(value) for name, value in (terms or {}).items()},
            )
        )

    def send_lines(self) -> None:
        """Send the collected lines."""
        if self._lines:
            self._lines_at = time.perf_counter()
        has_terms = any(line.terms for line in self._lines)
        batch_size = _LINES_WITH_TERMS if has_terms else _LINES_PER_MESSAGE
        for start in range(0, len(self._lines), batch_size):
            lines = tuple(self._lines[start : start + batch_size])
            self._channel.send(messages.Measured(lines=lines))
        self._lines.clear()

    def note(self, event_type: str, message: str, *, is_warning: bool) -> None:
        """Send a note about the run for its user."""
        self._channel.send(
            messages.Noted(event_type=event_type, message=message, is_warning=is_warning)
        )

    def _fps(self) -> float | None:
        (began, first), (ended, last) = self._speed[0], self._speed[-1]
        return round((last - first) / (ended - began), 1) if last > first else None
