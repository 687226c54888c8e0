"""A small plot of a schedule."""

from nicegui import ui

from app.protocol import Schedule

_WIDTH, _HEIGHT, _MARGIN = 96, 24, 2


class ScheduleCurve:
    """A line from the beginning of a run to its end; hidden for a constant value."""

    def __init__(self) -> None:
        box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio=xMinYMid'
        with ui.element("svg").classes("lab-schedule").props(f"{box} role=img") as self._picture:
            self._line = ui.element("polyline")

    def show(self, schedule: Schedule | None) -> None:
        """Draw a schedule; hide the plot if there is none."""
        self._picture.set_visibility(schedule is not None)
        if schedule is not None:
            self._picture.props(f'aria-label="Schedule {schedule}"')
            self._line.props(f'points="{_path(schedule)}"')


def _path(schedule: Schedule) -> str:
    values = [value for _, value in schedule.points]
    # The value is constant before the first point and after the last one.
    points = [(0.0, values[0]), *schedule.points, (1.0, values[-1])]
    low, high = min(0.0, *values), max(values)
    span = (high - low) or 1.0
    width, height = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    return " ".join(
        f"{_MARGIN + progress * width:.1f},{_MARGIN + (high - value) / span * height:.1f}"
        for progress, value in points
    )
