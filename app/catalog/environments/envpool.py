"""EnvPool: the same environments in C++, all copies stepped by one call, for training only."""

from collections.abc import Mapping
from typing import Any

from app.catalog.environments.extras import Extra
from app.protocol.wrappers import Wrappers

ENVPOOL = Extra("envpool", ("envpool",))

_IDS = frozenset(
    {
        "CartPole-v1",
        "Acrobot-v1",
        "MountainCar-v0",
        "MountainCarContinuous-v0",
        "Pendulum-v1",
        "LunarLander-v3",
        "LunarLanderContinuous-v3",
        "BipedalWalker-v3",
        "BipedalWalkerHardcore-v3",
    }
)
"""Those whose spaces, time limits and rewards were compared with Gymnasium's."""


def why_no_envpool(
    env_id: str, changed: Mapping[str, Any], options: Wrappers, algorithm: str
) -> str | None:
    """Say why EnvPool can't simulate this, or None; `changed` are options that aren't defaults."""
    if env_id not in _IDS:
        return f"{env_id} is not among what it simulates like Gymnasium ({', '.join(sorted(_IDS))})"
    if changed:
        return f"it can't change {', '.join(changed)} of {env_id}"
    used = [name for name in _AROUND_EACH if getattr(options, name) != getattr(Wrappers(), name)]
    if used:
        return f"{', '.join(used)} would have to go around every single environment"
    if algorithm == "MaskablePPO":
        return "it doesn't say which actions are allowed"
    if not ENVPOOL.is_installed:
        return f"it isn't installed; this adds it: {ENVPOOL.command}"
    return None


_AROUND_EACH = (
    "time_limit",
    "frame_skip",
    "sticky_actions",
    "observation_noise",
    "action_noise",
    "randomize",
)
