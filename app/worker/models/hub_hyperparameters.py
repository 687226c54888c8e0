"""Read the hyperparameters of an untrusted model of Stable-Baselines3, in a sandboxed worker."""

import base64
import inspect
import io
import json
import pickletools
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.type_aliases import TrainFreq, TrainFrequencyUnit

from app.protocol import Schedule, messages
from app.worker.models.algorithms import Implementation

_SCHEDULES = ("learning_rate", "clip_range", "clip_range_vf")
"""Possibly functions, which this process doesn't unpickle: another Python version may be theirs."""
_AUTO_IS_NULL = ("ent_coef", "target_entropy")
_NOT_HYPERPARAMETERS = frozenset({"seed", "use_rms_prop", "rms_prop_eps"})
_LARGEST_FUNCTION = 100_000
_NUMBER = r"([-+.e\d]{1,40})"
_CONSTANT = re.compile(rf"ConstantSchedule\(val={_NUMBER}\)")
_LINEAR = re.compile(rf"LinearSchedule\(start={_NUMBER}, end={_NUMBER}, end_fraction={_NUMBER}\)")
_CONSTANT_FUNCTION, _LINEAR_FUNCTION = "constant_fn", "linear_schedule"
"""SB3's function of a constant, and RL Zoo's of a value that decreases to 0."""

Values = dict[str, messages.HubValue]


class _UnknownError(Exception):
    """A value can't be told from the file."""


def read_hyperparameters(
    content: bytes, data: Mapping[str, Any], implementation: Implementation
) -> tuple[Values, tuple[str, ...]]:
    """Return the arguments of the algorithm and its policy, and the names of unknown ones.

    `data` is what SB3 unpickled. An argument that the file doesn't have is newer than the file:
    it has SB3's default, which keeps the behaviour.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        stored = json.loads(archive.read("data"))
    values, unknown = Values(), list[str]()
    for name, read in _readers(data, stored, implementation):
        try:
            values[name] = _plain(name, read)
        except _UnknownError:
            unknown.append(name)
    return values, tuple(unknown)


def _readers(
    data: Mapping[str, Any], stored: Mapping[str, Any], implementation: Implementation
) -> Iterator[tuple[str, Any]]:
    """Yield every argument with its stored value, and schedules as what they were stored as."""
    options = data.get("policy_kwargs") or {}
    for name, default in _arguments(implementation.sb3).items():
        if name in _SCHEDULES:
            yield name, _Stored(stored.get(name, default))
        elif name not in _NOT_HYPERPARAMETERS:
            yield name, data.get(name, default)
    own = _arguments(implementation.policy)
    names = ("ortho_init", "log_std_init", "n_critics", "n_quantiles")
    yield from ((name, options.get(name, own[name])) for name in names if name in own)
    if "use_rms_prop" in _arguments(implementation.sb3):
        # SB3 keeps these arguments of A2C as the optimizer that they stand for.
        optimizer = getattr(options.get("optimizer_class"), "__name__", "")
        yield "use_rms_prop", optimizer.startswith("RMSprop")
        if optimizer.startswith("RMSprop"):
            yield "rms_prop_eps", (options.get("optimizer_kwargs") or {}).get("eps", 1e-5)


class _Stored:
    """The JSON of a value that may be a function."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401 - JSON
        self.value = value


def _arguments(kind: type[Any]) -> dict[str, Any]:
    parameters = inspect.signature(kind).parameters.items()
    return {name: one.default for name, one in parameters if one.default is not one.empty}


def _plain(name: str, value: Any) -> messages.HubValue:  # noqa: ANN401 - untrusted
    match value:
        case _Stored():
            return _schedule(value.value)
        case TrainFreq(frequency=frequency, unit=TrainFrequencyUnit.STEP):
            return int(frequency)
        case NormalActionNoise():
            return _deviation(value)
        case "auto" if name in _AUTO_IS_NULL:
            return None
        case np.generic():
            return _plain(name, value.item())
        case bool() | int() | float() | None:
            return value
    raise _UnknownError


def _deviation(noise: NormalActionNoise) -> float:
    """Return the deviation of noise that is alike in all dimensions and has no mean."""
    deviations = {float(one) for one in np.ravel(noise._sigma)}
    if len(deviations) != 1 or np.any(noise._mu):
        raise _UnknownError
    return deviations.pop()


def _schedule(stored: Any) -> messages.HubValue:  # noqa: ANN401 - JSON
    if stored is None or (isinstance(stored, int | float) and not isinstance(stored, bool)):
        return stored
    if not isinstance(stored, dict):
        raise _UnknownError
    text = str(stored.get("value_schedule", ""))
    if (constant := _CONSTANT.fullmatch(text)) is not None:
        return float(constant[1])
    if (linear := _LINEAR.fullmatch(text)) is not None:
        return _linear(*map(float, linear.groups()))
    if {"start", "end", "end_fraction"} <= stored.keys():
        return _linear(*(float(stored[name]) for name in ("start", "end", "end_fraction")))
    if {"progress", "values"} <= stored.keys():
        # The lab's own schedule.
        pairs = zip(stored["progress"], stored["values"], strict=True)
        return Schedule(tuple((float(at), float(value)) for at, value in pairs))
    return _function(str(stored.get(":serialized:", "")))


def _linear(start: float, end: float, end_fraction: float) -> Schedule:
    held = ((1.0, end),) if end_fraction < 1.0 else ()
    return Schedule(((0.0, start), (end_fraction, end), *held))


def _function(serialized: str) -> messages.HubValue:
    """Tell what a pickled function of SB3 or RL Zoo returns, without unpickling it."""
    if not serialized or len(serialized) > _LARGEST_FUNCTION:
        raise _UnknownError
    try:
        operations = list(pickletools.genops(base64.b64decode(serialized)))
    except (ValueError, EOFError):
        raise _UnknownError from None
    numbers = [value for _, value, _ in operations if isinstance(value, float)]
    names = " ".join(value for _, value, _ in operations if isinstance(value, str))
    if len(numbers) == 1 and _CONSTANT_FUNCTION in names:
        return numbers[0]
    if len(numbers) == 1 and _LINEAR_FUNCTION in names:
        return _linear(numbers[0], 0.0, 1.0)
    raise _UnknownError
