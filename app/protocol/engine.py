"""Which engine trains a run: the fast one where it can, else Stable-Baselines3 itself.

Imports nothing of the lab, because a worker reads it, too.
"""

from collections.abc import Mapping
from typing import Any, Literal

EngineWish = Literal["auto", "fast", "sb3"]
EngineName = Literal["fast", "sb3"]

_ALGORITHMS = ("PPO", "A2C", "DQN", "SAC", "TD3", "TQC")
_SWITCHES = {"layer_norm": "layer normalisation", "use_sde": "state-dependent noise"}
_AS_ASKED = "as asked for"
_CAN_DO_IT = "it does all that is asked for here"
_UNSEEN = {"image": "pictures", "dict": "dictionaries"}


def why_not_fast(algorithm: str, hyperparameters: Mapping[str, Any], observed: str) -> str | None:
    """Say what the fast engine can't do of this, or None; `observed` is an `ObservationKind`.

    Asked in the web process, and once more in the worker, which knows the environment itself.
    """
    if algorithm not in _ALGORITHMS:
        return f"{algorithm} is not in the fast engine"
    for name, words in _SWITCHES.items():
        if hyperparameters.get(name):
            return f"{words} ({name}) is not in the fast engine"
    if observed in _UNSEEN:
        return f"observations that are {_UNSEEN[observed]} are not in the fast engine"
    return None


def why_this_engine(wish: EngineWish, why_not_fast: str | None) -> str:
    """Say why a run is trained by the engine that it is trained by."""
    return why_not_fast or _CAN_DO_IT if wish == "auto" else _AS_ASKED


def describe_engine(engine: EngineName, why: str | None) -> str:
    """Say in a sentence what trains, and why if that is known."""
    name = "the fast engine" if engine == "fast" else "Stable-Baselines3"
    if why is None:
        return f"Trains with {name}."
    return f"Trains with {name}, {why}." if why == _AS_ASKED else f"Trains with {name}: {why}."
