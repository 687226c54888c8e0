"""Curves as inline SVG: no script, no font, no network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from app.analysis.report.content import Points


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The part of a curve that an insight is based on."""

    x: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A curve in SVG coordinates."""

    width: ClassVar = 640
    height: ClassVar = 180
    left: ClassVar = 64
    right: ClassVar = 632
    top: ClassVar = 12
    floor: ClassVar = 156

    title: str
    path: str
    marks: Sequence[Mark]
    low: str
    high: str
    last: str


def chart(title: str, points: Points, *, windows: Sequence[tuple[int, int]]) -> Chart:
    """Return the chart of a metric over steps, with the windows of insights marked."""
    ys = [y for _, y in points]
    last = max(points[-1][0], 1)
    low, high = min(ys), max(ys)
    spread = (high - low) or abs(high) or 1.0

    def to_x(x: float) -> float:
        return Chart.left + (Chart.right - Chart.left) * x / last

    def to_y(y: float) -> float:
        return Chart.floor - (Chart.floor - Chart.top) * (y - low) / spread

    def mark(first: int, end: int) -> Mark:
        width = max(1.0, to_x(min(end, last)) - to_x(first))
        return Mark(x=f"{to_x(first):.1f}", width=f"{width:.1f}")

    return Chart(
        title=title,
        path=" ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in points),
        marks=[mark(*window) for window in windows],
        low=f"{low:,.4g}",
        high=f"{high:,.4g}",
        last=f"{last:,}",
    )
