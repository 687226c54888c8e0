"""Requests and results of curve queries: plain frozen values shared by all layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.records.runs import JsonObject

CURVE_AXES = ("timesteps", "vec_steps", "updates", "episode", "elapsed_s")
"""The possible x axes of a curve; all increase monotonically from line to line."""

OWN_STEPS = dict.fromkeys(("eval_reward", "eval_length", "eval_success_rate"), "eval_timesteps")
"""Metrics with their own step: an evaluation is logged later than its policy was taken."""

TERM_PREFIX = "terms/"
"""The prefix of metric names for terms of a custom reward."""

Pair = tuple[Sequence[float], Sequence[float]]
"""The x and y values of a line."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric in a view."""

    points: Pair
    """All values, or the minimum and maximum of each bucket."""
    means: Pair | None
    """The mean of each bucket; None if the points are all values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A query for metrics over a range of an axis."""

    names: Sequence[str]
    """Names of metrics; one that ends in `/` selects all metrics with this prefix."""
    axis: str = "timesteps"
    start: float | None = None
    end: float | None = None
    max_points: int = 1_500
    mark_steps: Sequence[int] = ()
    """Steps whose positions on the axis are returned as `marks`."""


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of several metrics in one view."""

    by_name: Mapping[str, Curve]
    last_line: int
    """Number of the last line that was read."""
    marks: Sequence[float]
    """The positions of `View.mark_steps` on the axis."""
    extent: tuple[float, float]
    """The first and the last value of the axis, independent of the view."""


def terms_of(line: JsonObject) -> JsonObject:
    """Return the sum of each term of a custom reward in an episode, by its name in the code."""
    terms = line.get("terms")
    return terms if isinstance(terms, dict) else {}


def unfold(line: JsonObject) -> JsonObject:
    """Flatten the reward terms of a line into metrics such as `terms/upright`."""
    if "terms" not in line:
        return line
    rest = {name: value for name, value in line.items() if name != "terms"}
    return {**rest, **{f"{TERM_PREFIX}{name}": value for name, value in terms_of(line).items()}}
