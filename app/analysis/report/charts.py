"""Curves as inline SVG: no script, no font, no net."""

from html import escape

from app.analysis.report.content import Points

_WIDTH, _HEIGHT = 640, 180
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 8, 12, 24


def chart(title: str, points: Points, *, windows: list[tuple[int, int]]) -> str:
    """Return a curve over timesteps, with the stretches marked that findings rest on."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    last = max(xs[-1], 1)
    low, high = min(ys), max(ys)
    spread = (high - low) or abs(high) or 1.0

    def across(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / last

    def up(y: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (y - low) / spread

    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    marks = "".join(
        f'<rect class="window" x="{across(first):.1f}" y="{_TOP}" '
        f'width="{max(1.0, across(min(end, last)) - across(first)):.1f}" '
        f'height="{_HEIGHT - _TOP - _BOTTOM}"/>'
        for first, end in windows
    )
    floor = _HEIGHT - _BOTTOM
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">{marks}'
        f'<line class="axis" x1="{_LEFT}" y1="{floor}" x2="{_WIDTH - _RIGHT}" y2="{floor}"/>'
        f'<polyline points="{path}"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 8}" text-anchor="end">{high:,.4g}</text>'
        f'<text x="{_LEFT - 6}" y="{floor}" text-anchor="end">{low:,.4g}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">0</text>'
        f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{last:,} steps</text>'
        "</svg></figure>"
    )
