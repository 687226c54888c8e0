"""Custom environments: one file with one class, loaded in a sandboxed worker."""

from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import registry

from app.protocol import ENVIRONMENT_FILE, UserCodeError
from app.worker.user_code import loader

MODULE = "user_environment"
"""The name of the module that `loader.load` creates from the user's file."""


def register(env_id: str, code: str) -> None:
    """Load a user's file and register its environment under this id.

    Raises:
        UserCodeError: if it raises, or does not define exactly one environment.
    """
    definitions = loader.load(code, filename=ENVIRONMENT_FILE)
    env_class = _find_environment(definitions)
    registry.pop(env_id, None)
    gym.register(
        env_id,
        entry_point=env_class,  # type: ignore[arg-type]  # a class is a callable
        max_episode_steps=_numeric_attribute(env_class, "max_episode_steps", int),
        reward_threshold=_numeric_attribute(env_class, "reward_threshold", float),
    )


def component_names(env: gym.Env[Any, Any], attribute: str, count: int) -> tuple[str, ...]:
    """Return an environment's names of its observation or action components, if it has any."""
    names = getattr(env.unwrapped, attribute, None)
    if not isinstance(names, tuple | list) or len(names) != count:
        return ()
    return tuple(str(name)[:_MAX_NAME_LENGTH] for name in names)


_MAX_NAME_LENGTH = 60


def _find_environment(definitions: dict[str, Any]) -> type[gym.Env[Any, Any]]:
    found = {
        value
        for value in definitions.values()
        if isinstance(value, type) and issubclass(value, gym.Env) and value.__module__ == MODULE
    }
    leaves = [
        env_class
        for env_class in found
        if not any(other is not env_class and issubclass(other, env_class) for other in found)
    ]
    if len(leaves) == 1:
        return leaves[0]
    if not leaves:
        raise UserCodeError(
            f"{ENVIRONMENT_FILE} defines no environment. Write a class that extends gymnasium.Env."
        )
    several = ", ".join(sorted(env_class.__name__ for env_class in leaves))
    raise UserCodeError(f"{ENVIRONMENT_FILE} defines more than one environment ({several}).")


def _numeric_attribute(
    env_class: type, attribute: str, number_type: type[int] | type[float]
) -> Any:  # noqa: ANN401 - int, float or None
    value = getattr(env_class, attribute, None)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (number_type is int and (value < 1 or int(value) != value)):
        rule = "a whole number above 0" if number_type is int else "a number"
        raise UserCodeError(f"{ENVIRONMENT_FILE}: {attribute} must be {rule}, not {value!r}.")
    return number_type(value)
