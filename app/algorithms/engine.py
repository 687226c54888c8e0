"""Which engine trains a run: the fast one where it can, else Stable-Baselines3 itself.

Imports nothing of the lab, because a worker reads it, too.
"""

from collections.abc import Mapping
from typing import Any, Literal

EngineWish = Literal["auto", "fast", "sb3"]
EngineName = Literal["fast", "sb3"]

_ALGORITHMS = ("PPO", "A2C", "DQN")
_SWITCHES = {"layer_norm": "layer normalisation", "use_sde": "state-dependent noise"}
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


def describe_engine(engine: EngineName, why_not: str | None) -> str:
    """Say in a sentence what trains, and why if it isn't the fast engine."""
    if engine == "fast":
        return "Trains with the fast engine."
    if why_not is None:
        return "Trains with Stable-Baselines3, as asked for."
    return f"Trains with Stable-Baselines3: {why_not}."
