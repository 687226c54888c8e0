"""The wrapper options of a run as user input: types, bounds, descriptions."""

from collections.abc import Mapping
from typing import Any

from app.catalog.algorithms import Hyperparameter
from app.catalog.environments import EnvSpec, ObservationKind
from app.core import InputError, UnknownFieldError, shorten
from app.protocol import Wrappers

_MAX_RANDOMIZED = 20
_LARGEST = 1e300

_LEFT_OUT = "left_out_actions"

ENGINE_OPTION = Hyperparameter(
    name="engine",
    type="choice",
    default="auto",
    choices=("auto", "fast", "sb3"),
    description="Training engine: auto uses the fast engine wherever it is equivalent to SB3.",
)

WRAPPER_OPTIONS = (
    Hyperparameter(
        name="simulator",
        type="choice",
        default="gymnasium",
        choices=("gymnasium", "envpool"),
        description="EnvPool steps some environments faster, on several cores where that helps. "
        "Needs its extra; a resumed run starts new episodes. Training only.",
    ),
    Hyperparameter(
        name="frame_stack",
        type="int",
        default=1,
        min=1,
        max=16,
        description="Number of observations stacked into one.",
    ),
    Hyperparameter(
        name="normalize_observation",
        type="bool",
        default=False,
        description=(
            "Normalize observations to mean 0 and standard deviation 1 by running statistics."
        ),
    ),
    Hyperparameter(
        name="normalize_reward",
        type="bool",
        default=False,
        description=(
            "Normalize rewards by the running deviation of returns; reported rewards are unchanged."
        ),
    ),
    Hyperparameter(
        name="time_limit",
        type="int",
        default=None,
        min=1,
        max=1_000_000,
        nullable=True,
        description=(
            "Truncate episodes after this many steps of the agent; null: the environment's own "
            "limit. With frame_skip a step is several frames."
        ),
    ),
    Hyperparameter(
        name="time_limit_unit",
        type="choice",
        default="steps",
        choices=("steps", "frames"),
        description=(
            "What time_limit counts: steps of the agent, or frames of the environment before "
            "frame_skip and Atari's frame skip, as in runs of earlier versions."
        ),
    ),
    Hyperparameter(
        name="frame_skip",
        type="int",
        default=1,
        min=1,
        max=16,
        description="Repeat each action this many times.",
    ),
    Hyperparameter(
        name="left_out_actions",
        type="text",
        default="",
        max=500,
        description=(
            "Discrete actions that the agent doesn't have, by name or number, such as: wait, 3. "
            "In evaluations and exports, too."
        ),
    ),
    Hyperparameter(
        name="sticky_actions",
        type="float",
        default=0.0,
        min=0.0,
        max=0.95,
        description="Probability that the last action is repeated instead. Training only.",
    ),
    Hyperparameter(
        name="observation_noise",
        type="float",
        default=0.0,
        min=0.0,
        max=100.0,
        description="Standard deviation of the noise on observations. Training only.",
    ),
    Hyperparameter(
        name="action_noise",
        type="float",
        default=0.0,
        min=0.0,
        max=10.0,
        description=(
            "Standard deviation of the noise on continuous actions, or probability that a "
            "discrete one is replaced. Training only."
        ),
    ),
)


def read_wrappers(given: Mapping[str, Any], environment: EnvSpec) -> Wrappers:
    """Check the wrapper options of a run.

    Raises:
        InputError: if one is unknown, out of bounds, or doesn't fit the environment.
    """
    known = {option.name: option for option in WRAPPER_OPTIONS}
    for name in given:
        if name not in known and name != "randomize":
            raise UnknownFieldError(f"wrappers.{name}")
    values: dict[str, Any] = {
        name: known[name].check(value, field=f"wrappers.{name}")
        for name, value in given.items()
        if name in known and name != _LEFT_OUT
    }
    values[_LEFT_OUT] = _left_out(given.get(_LEFT_OUT, ""), environment)
    values.setdefault("frame_stack", environment.default_frame_stack)
    values["randomize"] = _ranges(given.get("randomize", {}))
    wrappers = Wrappers(**values)
    _check_fits(wrappers, environment)
    return wrappers


def _left_out(given: object, environment: EnvSpec) -> tuple[int, ...]:
    """Return the numbers of actions that are named in a list or a text."""
    words = given.split(",") if isinstance(given, str) else given
    if not isinstance(words, list | tuple) or not all(isinstance(w, str | int) for w in words):
        raise InputError(
            f'wrappers.{_LEFT_OUT} must be names or numbers of actions, such as ["wait", 3], got '
            f"{shorten(given)}.",
            field=f"wrappers.{_LEFT_OUT}",
        )
    named = [str(word).strip().lower() for word in words if str(word).strip()]
    if not named:
        return ()
    count = environment.n_actions
    if count is None:
        raise InputError(
            f"wrappers.{_LEFT_OUT} needs discrete actions, {environment.id} has others. Leave it "
            "out.",
            field=f"wrappers.{_LEFT_OUT}",
        )
    numbers = {str(number): number for number in range(count)}
    labels = {label.lower(): number for number, label in enumerate(environment.action_labels)}
    known = {**labels, **({"noop": labels["wait"]} if "wait" in labels else {}), **numbers}
    unknown = [word for word in named if word not in known]
    if unknown:
        raise InputError(
            f"{environment.id} has no action {shorten(unknown[0])}. Its actions: "
            f"{', '.join(environment.action_labels[:20]) or f'0 to {count - 1}'}.",
            field=f"wrappers.{_LEFT_OUT}",
        )
    found = tuple(sorted({known[word] for word in named}))
    if len(found) > count - 2:
        raise InputError(
            f"wrappers.{_LEFT_OUT} must keep at least two of the {count} actions of "
            f"{environment.id}.",
            field=f"wrappers.{_LEFT_OUT}",
        )
    return found


def _ranges(given: object) -> dict[str, tuple[float, float]]:
    if not isinstance(given, Mapping) or len(given) > _MAX_RANDOMIZED:
        raise InputError(
            'wrappers.randomize must be an object such as {"gravity": [8.0, 12.0]} with at most '
            f"{_MAX_RANDOMIZED} names, got {shorten(given)}.",
            field="wrappers.randomize",
        )
    return {str(name): _range(str(name), bounds) for name, bounds in given.items()}


def _range(name: str, bounds: object) -> tuple[float, float]:
    field = f"wrappers.randomize.{name[:80]}"
    if not name.isidentifier() or name.startswith("_"):
        raise InputError(f"{name[:80]!r} is not an attribute name.", field=field)
    match bounds:
        case [int() | float() as low, int() | float() as high] if _is_range(low, high):
            return float(low), float(high)
    raise InputError(
        f"{field} must be a range [lowest, highest], got {shorten(bounds)}.", field=field
    )


def _is_range(low: float, high: float) -> bool:
    are_numbers = not isinstance(low, bool) and not isinstance(high, bool)
    return are_numbers and -_LARGEST <= low <= high <= _LARGEST


_NEEDS = {
    "frame_stack": (ObservationKind.BOX, ObservationKind.IMAGE),
    "normalize_observation": (ObservationKind.BOX,),
    "observation_noise": (ObservationKind.BOX,),
}
"""The kinds of observations that an option supports."""


def _check_fits(wrappers: Wrappers, environment: EnvSpec) -> None:
    if wrappers.action_noise > 1 and environment.n_actions is not None:
        raise InputError(
            "wrappers.action_noise is the probability that a discrete action is replaced: from 0 "
            "to 1, "
            f"got {wrappers.action_noise:g}.",
            field="wrappers.action_noise",
        )
    off = Wrappers()
    for name, kinds in _NEEDS.items():
        is_used = getattr(wrappers, name) != getattr(off, name)
        if is_used and environment.observation_kind not in kinds:
            raise InputError(
                f"wrappers.{name} needs {' or '.join(kinds)} observations, {environment.id} has "
                f"{environment.observation_kind.replace('_', '-')} ones. Leave it out.",
                field=f"wrappers.{name}",
            )
