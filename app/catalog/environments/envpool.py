"""EnvPool: C++ versions of environments, stepped in parallel by one call, for training only."""

from collections.abc import Mapping
from typing import Any

from app.catalog.environments.extras import Extra
from app.protocol import Wrappers

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
"""Environments whose spaces, time limits and rewards were compared with Gymnasium's."""


def why_no_envpool(
    env_id: str, changed: Mapping[str, Any], options: Wrappers, *, masks_actions: bool
) -> str | None:
    """Return why EnvPool can't be used, or None if it can; `changed` are non-default options."""
    if env_id not in _IDS:
        return f"{env_id} is not one of its verified environments ({', '.join(sorted(_IDS))})"
    if changed:
        return f"it can't change {', '.join(changed)} of {env_id}"
    used = [name for name in _PER_ENV if getattr(options, name) != getattr(Wrappers(), name)]
    if used:
        return f"{', '.join(used)} must wrap each environment individually"
    if masks_actions:
        return "it doesn't report which actions are allowed"
    if not ENVPOOL.is_installed:
        return f"it isn't installed; install it with: {ENVPOOL.command}"
    return None


_PER_ENV = (
    "time_limit",
    "frame_skip",
    "left_out_actions",
    "sticky_actions",
    "observation_noise",
    "action_noise",
    "randomize",
)
