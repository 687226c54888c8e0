"""Draw a learning curve as a PNG; imported only by the process that uploads it."""

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

_WIDTH, _HEIGHT, _SCALE = 880, 360, 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 24, 36, 44
_INK, _QUIET, _LINE, _PAPER = "#111111", "#767676", "#2f5bea", "#ffffff"
_RULES = 4


def draw_curve(points: Sequence[tuple[float, float]]) -> bytes:
    """Return a PNG of the mean reward over steps."""
    size = (_WIDTH * _SCALE, _HEIGHT * _SCALE)
    picture = Image.new("RGB", size, _PAPER)
    draw = ImageDraw.Draw(picture)
    steps, values = [x for x, _ in points], [y for _, y in points]
    low, high = min(values), max(values)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    last = max(steps) or 1

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / last
        down = _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - y) / (high - low)
        return across * _SCALE, down * _SCALE

    font = ImageFont.load_default(size=13 * _SCALE)
    draw.text((_LEFT * _SCALE, 8 * _SCALE), "Mean reward of 100 episodes", _INK, font=font)
    for rule in range(_RULES + 1):
        value = low + (high - low) * rule / _RULES
        begin, end = place(0, value), place(last, value)
        draw.line([begin, end], fill="#e3e3e3", width=_SCALE)
        at = (begin[0] - 8 * _SCALE, begin[1])
        draw.text(at, f"{value:,.1f}", _QUIET, font=font, anchor="rm")
    for share in (0.0, 0.5, 1.0):
        across, down = place(last * share, low)
        at = (across, down + 8 * _SCALE)
        draw.text(at, f"{last * share:,.0f}", _QUIET, font=font, anchor="mt" if share < 1 else "rt")
    draw.line([place(x, y) for x, y in points], fill=_LINE, width=2 * _SCALE, joint="curve")
    content = io.BytesIO()
    picture.save(content, "PNG", optimize=True)
    return content.getvalue()
