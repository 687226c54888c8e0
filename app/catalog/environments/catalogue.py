"""The environments on offer, and those that were described since."""

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
from app.core.errors import UnknownEnvironmentError

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

CUSTOM = "custom/"
"""What the ids of environments begin with that people wrote here."""

CATALOGUE: dict[str, EnvSpec] = {spec.id: spec for spec in _OFFERED}

_FORMER_IDS = {former: spec for spec in CATALOGUE.values() for former in spec.former_ids}
_described: dict[tuple[str, str], EnvSpec] = {}


def get_environment(env_id: str, env_kwargs: Mapping[str, Any] | None = None) -> EnvSpec:
    """Return one environment as it is with these options; a former id answers with its successor.

    Raises:
        UnknownEnvironmentError: if it is neither in the catalogue nor was described before.
        InputError: if it has no such option, or the value can't be used.
    """
    given = env_kwargs or {}
    if (spec := find_in_catalogue(env_id)) is not None:
        return spec.configured(given)
    described = _described.get(_key(env_id, given))
    if described is None:
        raise UnknownEnvironmentError(env_id, installed_ids())
    return described


def installed_ids() -> list[str]:
    """Return the ids that can be chosen here."""
    return [spec.id for spec in CATALOGUE.values() if spec.is_installed]


def find_in_catalogue(env_id: str) -> EnvSpec | None:
    """Return an environment of the catalogue by its id or a former one."""
    return CATALOGUE.get(env_id) or _FORMER_IDS.get(env_id)


def remember(spec: EnvSpec, env_kwargs: Mapping[str, Any]) -> None:
    """Let `get_environment` know an environment that was described."""
    _described[_key(spec.id, env_kwargs)] = spec


def environment_of_run(env_id: str, env_kwargs: Mapping[str, Any] | None = None) -> EnvSpec:
    """Return the environment of a run that exists, even if nothing is known of it any more."""
    try:
        return get_environment(env_id, env_kwargs)
    except UnknownEnvironmentError:
        return _forgotten(env_id)


def _key(env_id: str, env_kwargs: Mapping[str, Any]) -> tuple[str, str]:
    return env_id, json.dumps(env_kwargs, sort_keys=True)


def _forgotten(env_id: str) -> EnvSpec:
    return EnvSpec(
        id=env_id,
        name=env_id,
        family="other",
        description="Nothing is known of this environment any more.",
        action_kind=ActionKind.DISCRETE,
        action_labels=(),
        reward_range=(None, None),
        solved_threshold=None,
        max_episode_steps=None,
        default_timesteps=100_000,
        options=None,
    )
