"""Environments that people write: one file with one class, loaded in a locked worker."""

from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import registry

from app.protocol.user_code import ENVIRONMENT_FILE, UserCodeError
from app.worker.user_code import loader

MODULE = "user_environment"
"""What `loader.load` calls the module of this file."""


def register(env_id: str, code: str) -> None:
    """Load a person's file and let Gymnasium know its environment under this id.

    Raises:
        UserCodeError: if there is nothing to load in it, or it raises.
    """
    names = loader.load(code, filename=ENVIRONMENT_FILE)
    kind = _environment_in(names)
    registry.pop(env_id, None)
    gym.register(
        env_id,
        entry_point=kind,  # type: ignore[arg-type]  # a class makes what it is called for
        max_episode_steps=_number(kind, "max_episode_steps", int),
        reward_threshold=_number(kind, "reward_threshold", float),
    )


def names_of(env: gym.Env[Any, Any], attribute: str, count: int) -> tuple[str, ...]:
    """Return what an environment calls the parts of its observations or actions, if it does."""
    names = getattr(env.unwrapped, attribute, None)
    if not isinstance(names, tuple | list) or len(names) != count:
        return ()
    return tuple(str(name)[:_LONGEST_NAME] for name in names)


_LONGEST_NAME = 60


def _environment_in(names: dict[str, Any]) -> type[gym.Env[Any, Any]]:
    found = {
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, gym.Env) and value.__module__ == MODULE
    }
    leaves = [
        kind
        for kind in found
        if not any(other is not kind and issubclass(other, kind) for other in found)
    ]
    if len(leaves) == 1:
        return leaves[0]
    if not leaves:
        raise UserCodeError(
            f"{ENVIRONMENT_FILE}: there is no environment in it. "
            "Write a class that extends gymnasium.Env."
        )
    several = ", ".join(sorted(kind.__name__ for kind in leaves))
    raise UserCodeError(
        f"{ENVIRONMENT_FILE}: there is more than one environment in it ({several})."
    )


def _number(kind: type, attribute: str, wanted: type[int] | type[float]) -> Any:  # noqa: ANN401 - one of both
    value = getattr(kind, attribute, None)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (wanted is int and (value < 1 or int(value) != value)):
        rule = "a whole number above 0" if wanted is int else "a number"
        raise UserCodeError(f"{ENVIRONMENT_FILE}: {attribute} must be {rule}, and is {value!r}.")
    return wanted(value)
