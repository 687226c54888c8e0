"""Say where array environments can take the place of ordinary ones."""

from functools import cache

import numpy as np

from app.protocol import commands
from app.worker.envs.environments import find_environment, make_env
from app.worker.envs.vectorized.acrobot import Acrobot
from app.worker.envs.vectorized.cart_pole import CartPole
from app.worker.envs.vectorized.mountain_car import MountainCar, MountainCarContinuous
from app.worker.envs.vectorized.pendulum import Pendulum
from app.worker.envs.vectorized.vec_env import ArrayVecEnv
from app.worker.envs.vectorized.world import World

_WORLDS: dict[str, type[World]] = {
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": CartPole,
    "gymnasium.envs.classic_control.mountain_car:MountainCarEnv": MountainCar,
    "gymnasium.envs.classic_control.continuous_mountain_car:Continuous_MountainCarEnv": (
        MountainCarContinuous
    ),
    "gymnasium.envs.classic_control.pendulum:PendulumEnv": Pendulum,
    "gymnasium.envs.classic_control.acrobot:AcrobotEnv": Acrobot,
}
"""By what Gymnasium makes for an id, so that another environment of the same name isn't taken."""

_LONGEST_EPISODE = 20_000
"""Each copy's actions are kept for as long as an episode may be."""


def array_envs(setup: commands.Setup, n_envs: int) -> ArrayVecEnv | None:
    """Return all environments as one, or None where ordinary ones are faster or needed."""
    return make_arrays(setup, n_envs) if offers_arrays(setup, n_envs) else None


def offers_arrays(setup: commands.Setup, n_envs: int) -> bool:
    """Whether so many environments are faster as one, as far as the setup tells."""
    world = _world(setup)
    return world is not None and n_envs >= world.pays_from and _is_plain(setup, world)


def make_arrays(setup: commands.Setup, n_envs: int) -> ArrayVecEnv | None:
    """Return any number of environments as one, or None where they wouldn't be the same."""
    world = _world(setup)
    if world is None or not _is_plain(setup, world):
        return None
    env = make_env(setup.env_id, setup.env_kwargs)
    assert env.spec is not None
    limit = setup.wrappers.time_limit or env.spec.max_episode_steps
    if limit is None or limit > _LONGEST_EPISODE:
        return None
    return ArrayVecEnv(world(env.unwrapped), n_envs, limit)


def _world(setup: commands.Setup) -> type[World] | None:
    return _WORLDS.get(str(find_environment(setup.env_id).entry_point))


def _is_plain(setup: commands.Setup, world: type[World]) -> bool:
    options = setup.wrappers
    return (
        world.arguments.issuperset(setup.env_kwargs)
        and options.frame_skip == 1
        and not options.disturbances
        and setup.algorithm != "MaskablePPO"
        and _arrays_round_as_numbers_do()
    )


@cache
def _arrays_round_as_numbers_do() -> bool:
    """Return whether sines and cosines of many numbers are those of each: processors differ."""
    angles = np.linspace(-7.0, 7.0, 1_001)
    return all(np.array_equal(of(angles), [of(a) for a in angles]) for of in (np.sin, np.cos))
