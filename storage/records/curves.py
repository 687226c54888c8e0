"""What is asked and told about curves: plain frozen values that every layer may pass around."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.records.runs import JsonObject

AXES = ("timesteps", "vec_steps", "updates", "episode", "elapsed_s")
"""What a curve can be drawn over; all of them only grow from line to line."""

OWN_STEPS = {"eval_reward": "eval_timesteps", "eval_length": "eval_timesteps"}
"""An evaluation is told of later than the policy was made that it judged."""

TERMS = "terms/"
"""What the names of metrics begin with that are terms of a custom reward."""

Pair = tuple[Sequence[float], Sequence[float]]
"""The x and y values of a line."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric in a window."""

    points: Pair
    """All values, or the least and the greatest of each part."""
    means: Pair | None
    """The mean of each part; None where the points are all values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What somebody looks at: metrics over an axis, between two of its values."""

    names: Sequence[str]
    """Names of metrics; one that ends in `/` means all that begin so."""
    axis: str = "timesteps"
    start: float | None = None
    end: float | None = None
    max_points: int = 1_500
    mark_steps: Sequence[int] = ()
    """Steps whose places on the axis are wanted."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Several metrics in one view."""

    by_name: Mapping[str, Curve]
    told: int
    """The number of the last line that they know of."""
    marks: Sequence[float]
    """Where the steps are that were asked for."""
    extent: tuple[float, float]
    """The first and the last value of the axis, whatever the view."""


def terms_of(line: JsonObject) -> JsonObject:
    """Return what each term of a custom reward gave in an episode, by its name in the code."""
    terms = line.get("terms")
    return terms if isinstance(terms, dict) else {}


def unfold(line: JsonObject) -> JsonObject:
    """Return a line whose terms of a reward have names like other metrics: `terms/upright`."""
    if "terms" not in line:
        return line
    rest = {name: value for name, value in line.items() if name != "terms"}
    return {**rest, **{f"{TERMS}{name}": value for name, value in terms_of(line).items()}}
