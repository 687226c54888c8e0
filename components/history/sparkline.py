"""Sparklines: tiny learning curves."""

from collections.abc import Sequence
from typing import Any

from components.base import format_number
from storage.records import Sketch

WIDTH, HEIGHT = 96, 24
_MARGIN = 2


def sparkline(sketches: Sequence[Sketch | None]) -> dict[str, Any] | None:
    """Return polylines of several runs on common axes, and a description for screen readers."""
    drawn = [sketch.points for sketch in sketches if sketch is not None and sketch.points]
    if not drawn:
        return None
    values = [y for points in drawn for _, y in points]
    last = max(points[-1][0] for points in drawn) or 1
    low, high = min(values), max(values)
    ends = [points[-1][1] for points in drawn]
    words = f"Mean reward between {format_number(low, 1)} and {format_number(high, 1)}"
    newest = format_number(sum(ends) / len(ends), 1)
    return {
        "lines": [_line(points, last, low, high) for points in drawn],
        "words": f"{words}, {newest} at the end",
    }


def _line(points: Sequence[tuple[int, float]], last: int, low: float, high: float) -> str:
    width, height = WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN

    def up(value: float) -> float:
        # A constant curve is a line through the middle.
        share = (value - low) / (high - low) if high > low else 0.5
        return HEIGHT - _MARGIN - height * share

    return " ".join(f"{_MARGIN + width * x / last:.1f},{up(y):.1f}" for x, y in points)
