"""The environments of the catalogue, and those registered at run time."""

import json
from collections.abc import Mapping
from typing import Any

from app.catalog.environments import (
    atari,
    bandits,
    box2d,
    classic_control,
    grid_world,
    minigrid,
    mujoco,
    toy_text,
)
from app.catalog.environments.spec import ActionKind, EnvSpec
from app.core import UnknownEnvironmentError

_OFFERED = (
    classic_control.CARTPOLE,
    box2d.LUNAR_LANDER,
    box2d.BIPEDAL_WALKER,
    classic_control.ACROBOT,
    classic_control.MOUNTAIN_CAR,
    classic_control.PENDULUM,
    classic_control.MOUNTAIN_CAR_CONTINUOUS,
    box2d.LUNAR_LANDER_CONTINUOUS,
    box2d.BIPEDAL_WALKER_HARDCORE,
    box2d.CAR_RACING,
    grid_world.GRID_WORLD,
    toy_text.FROZEN_LAKE,
    toy_text.FROZEN_LAKE_8X8,
    toy_text.TAXI,
    toy_text.CLIFF_WALKING,
    toy_text.BLACKJACK,
    bandits.GAUSSIAN_BANDIT,
    bandits.BERNOULLI_BANDIT,
    bandits.CONTEXTUAL_BANDIT,
    minigrid.EMPTY,
    minigrid.DOOR_KEY,
    minigrid.DOOR_KEY_8X8,
    minigrid.FOUR_ROOMS,
    minigrid.LAVA_CROSSING,
    atari.PONG,
    atari.BREAKOUT,
    atari.SPACE_INVADERS,
    atari.MS_PACMAN,
    atari.QBERT,
    atari.SEAQUEST,
    atari.FREEWAY,
    mujoco.INVERTED_PENDULUM,
    mujoco.INVERTED_DOUBLE_PENDULUM,
    mujoco.HOPPER,
    mujoco.WALKER_2D,
    mujoco.HALF_CHEETAH,
    mujoco.ANT,
    mujoco.HUMANOID,
    mujoco.SWIMMER,
)

CUSTOM_PREFIX = "custom/"
"""The prefix of the ids of custom environments."""

ENVIRONMENTS: dict[str, EnvSpec] = {spec.id: spec for spec in _OFFERED}

_FORMER_IDS = {former: spec for spec in ENVIRONMENTS.values() for former in spec.former_ids}
_ALIASES = {
    alias: (spec, options)
    for spec in ENVIRONMENTS.values()
    for alias, options in spec.aliases.items()
}
_registered: dict[tuple[str, str], EnvSpec] = {}


def get_environment(env_id: str, env_kwargs: Mapping[str, Any] | None = None) -> EnvSpec:
    """Return an environment configured with these options; a former id returns its successor.

    Raises:
        UnknownEnvironmentError: if it is neither in the catalogue nor registered.
        InputError: if it has no such option, or the value is invalid.
    """
    given = with_options_of_id(env_id, env_kwargs or {})
    if (spec := find_in_catalogue(env_id)) is not None:
        return spec.configured(given)
    # A protocol changes neither observations nor actions; earlier versions had none.
    plain = {name: value for name, value in given.items() if name != "protocol"}
    registered = _registered.get(_key(env_id, given)) or _registered.get(_key(env_id, plain))
    if registered is None:
        raise UnknownEnvironmentError(env_id, installed_ids())
    return registered


def installed_ids() -> list[str]:
    """Return the ids of the catalogue's installed environments."""
    return [spec.id for spec in ENVIRONMENTS.values() if spec.is_installed]


def find_in_catalogue(env_id: str) -> EnvSpec | None:
    """Return an environment of the catalogue by its id, a former id or an alias."""
    alias = _ALIASES.get(env_id)
    return ENVIRONMENTS.get(env_id) or _FORMER_IDS.get(env_id) or (alias[0] if alias else None)


def with_options_of_id(env_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options and those that an alias stands for."""
    alias = _ALIASES.get(env_id)
    return {**(alias[1] if alias else {}), **given}


def register_environment(spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> None:
    """Make a described environment available to `get_environment`."""
    _registered[_key(spec.id, env_kwargs)] = spec


def environment_of_run(env_id: str, env_kwargs: Mapping[str, Any] | None = None) -> EnvSpec:
    """Return the environment of an existing run; a placeholder if it is no longer known."""
    try:
        return get_environment(env_id, env_kwargs)
    except UnknownEnvironmentError:
        return _placeholder(env_id)


def _key(env_id: str, env_kwargs: Mapping[str, Any]) -> tuple[str, str]:
    return env_id, json.dumps(env_kwargs, sort_keys=True)


def _placeholder(env_id: str) -> EnvSpec:
    return EnvSpec(
        id=env_id,
        name=env_id,
        family="other",
        description="This environment is no longer known to the lab.",
        action_kind=ActionKind.DISCRETE,
        action_labels=(),
        reward_range=(None, None),
        solved_threshold=None,
        max_episode_steps=None,
        default_timesteps=100_000,
        options=None,
    )
