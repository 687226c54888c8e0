"""A value that changes during training: points `progress -> value` with linear interpolation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Literal

_MAX_POINTS = 20
_MAX_TEXT = 2_000
"""In characters; twenty points with all digits of a float need fewer."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

SCHEDULE_FORMS = (
    '{"start": 0.001, "end": 0.0, "from": 0.5} or {"points": [[0, 0.001], [1, 0.0001]]}, '
    "written 0.001 -> 0 or 0: 0.001, 1: 0.0001"
)
"""The notations of a schedule, for error messages."""


ScheduleMode = Literal["hold", "stretch"]
"""What another budget does to schedules: hold the value of the former end, or stretch them."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Points of progress (0 to 1) and value, ordered by progress."""

    points: tuple[tuple[float, float], ...]

    def __str__(self) -> str:
        """Write it as `read_schedule` reads it."""
        if [progress for progress, _ in self.points] == [0.0, 1.0]:
            return " -> ".join(plain_number(value) for _, value in self.points)
        return ", ".join(f"{plain_number(at)}: {plain_number(value)}" for at, value in self.points)


def next_schedule_end(end: int, total_timesteps: int, mode: ScheduleMode | None) -> int:
    """Return the step at which schedules end once the budget has changed; `end` is that of before.

    None: changes of earlier versions, all of which stretched.
    """
    return min(end, total_timesteps) if mode == "hold" else total_timesteps


def plain_number(value: float) -> str:
    """Format a number without commas, so that it is read back exactly."""
    return repr(value).removesuffix(".0")


def read_schedule(given: object) -> Schedule | None:
    """Read a schedule from JSON or from a user's input; None if it isn't one."""
    try:
        match given:
            case Schedule():
                points = list(given.points)
            case str():
                points = _typed(given)
            case Mapping():
                points = _object(given)
            case _:
                return None
    except (TypeError, ValueError, OverflowError):
        return None
    return Schedule(tuple(points)) if _is_in_order(points) else None


def _typed_number(text: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError
    return float(text)


def _typed(text: str) -> list[tuple[float, float]]:
    # Before parsing: a mebibyte of text would block the event loop.
    if len(text) > _MAX_TEXT:
        raise ValueError
    if "->" in text:
        start, _, end = text.partition("->")
        return [(0.0, _typed_number(start)), (1.0, _typed_number(end))]
    pairs = [part.split(":") for part in text.split(",")]
    return [(_typed_number(progress), _typed_number(value)) for progress, value in pairs]


def _object(given: Mapping[str, object]) -> list[tuple[float, float]]:
    names = set(given)
    if names == {"points"} and isinstance(given["points"], list | tuple):
        if len(given["points"]) > _MAX_POINTS:
            raise ValueError
        return [(_number(progress), _number(value)) for progress, value in given["points"]]
    if {"start", "end"} <= names <= {"start", "end", "from"}:
        start, end = _number(given["start"]), _number(given["end"])
        begin = _number(given.get("from", 0.0))
        held = [(0.0, start)] if begin > 0 else []
        return [*held, (begin, start), (1.0, end)]
    raise ValueError


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _is_in_order(points: list[tuple[float, float]]) -> bool:
    progress = [point[0] for point in points]
    rises = all(left < right for left, right in pairwise(progress))
    is_within = all(0.0 <= one <= 1.0 for one in progress) and all(
        isfinite(value) for _, value in points
    )
    return 1 <= len(points) <= _MAX_POINTS and rises and is_within
