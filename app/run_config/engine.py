"""Choose the engine that trains a run: the fast one if possible, else Stable-Baselines3."""

from collections.abc import Mapping
from typing import Any, Literal

from app.catalog.algorithms import AlgorithmSpec
from app.catalog.environments import ObservationKind
from app.protocol import EngineName

EngineChoice = Literal["auto", "fast", "sb3"]

_SWITCHES = {"layer_norm": "layer normalization", "use_sde": "state-dependent noise"}
_AS_REQUESTED = "as requested"
_ALL_SUPPORTED = "all options are supported"
_EARLIER_WORDS = {
    "as asked for": _AS_REQUESTED,
    "it does all that is asked for here": _ALL_SUPPORTED,
}
"""Reasons in configurations of version 0.1."""
_UNSUPPORTED = {ObservationKind.IMAGE: "image", ObservationKind.DICT: "dict"}


def why_not_fast(
    algorithm: AlgorithmSpec, hyperparameters: Mapping[str, Any], observed: ObservationKind
) -> str | None:
    """Return why the fast engine can't train this, or None if it can."""
    if not algorithm.is_in_fast_engine:
        return f"the fast engine does not support {algorithm.id}"
    for name, words in _SWITCHES.items():
        if hyperparameters.get(name):
            return f"the fast engine does not support {words} ({name})"
    if observed in _UNSUPPORTED:
        return f"the fast engine does not support {_UNSUPPORTED[observed]} observations"
    return None


def why_this_engine(choice: EngineChoice, why_not_fast: str | None) -> str:
    """Return why a run uses its engine."""
    return why_not_fast or _ALL_SUPPORTED if choice == "auto" else _AS_REQUESTED


def describe_engine(engine: EngineName, why: str | None) -> str:
    """Return a sentence that names the engine, with the reason if it is known."""
    name = "the fast engine" if engine == "fast" else "Stable-Baselines3"
    why = _EARLIER_WORDS.get(why or "", why)
    if why is None or why == _ALL_SUPPORTED:
        return f"Using {name}."
    return f"Using {name}, {why}." if why == _AS_REQUESTED else f"Using {name}: {why}."
