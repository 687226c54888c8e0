"""Choose array environments where they are faster than separate ones and equivalent."""

from functools import cache

import numpy as np

from app.protocol import commands
from app.worker.envs.environments import find_environment, make_env
from app.worker.envs.vectorized.acrobot import Acrobot
from app.worker.envs.vectorized.array_vec_env import ArrayVecEnv
from app.worker.envs.vectorized.cart_pole import CartPole
from app.worker.envs.vectorized.dynamics import Dynamics
from app.worker.envs.vectorized.mountain_car import MountainCar
from app.worker.envs.vectorized.pendulum import Pendulum

_DYNAMICS: dict[str, type[Dynamics]] = {
    "gymnasium.envs.classic_control.cartpole:CartPoleEnv": CartPole,
    "gymnasium.envs.classic_control.mountain_car:MountainCarEnv": MountainCar,
    "gymnasium.envs.classic_control.pendulum:PendulumEnv": Pendulum,
    "gymnasium.envs.classic_control.acrobot:AcrobotEnv": Acrobot,
}
"""By Gymnasium's entry point, so that another environment with the same id isn't replaced."""

_MIN_ENVS = 8
"""Fewer environments are stepped as fast one by one (`make bench only=array_stepping`)."""
_MAX_EPISODE_LENGTH = 20_000
"""Limits the memory for the actions of the current episodes."""


def array_envs(setup: commands.Setup, n_envs: int) -> ArrayVecEnv | None:
    """Return a vectorized environment, or None if separate ones are faster or required."""
    return make_array_envs(setup, n_envs) if prefers_array_envs(setup, n_envs) else None


def prefers_array_envs(setup: commands.Setup, n_envs: int) -> bool:
    """Whether array environments are faster and equivalent, judging by the setup alone."""
    dynamics = _dynamics(setup)
    return dynamics is not None and n_envs >= _MIN_ENVS and _is_equivalent(setup, dynamics)


def make_array_envs(setup: commands.Setup, n_envs: int) -> ArrayVecEnv | None:
    """Return a vectorized environment of any size, or None if it would not be equivalent."""
    dynamics = _dynamics(setup)
    if dynamics is None or not _is_equivalent(setup, dynamics):
        return None
    env = make_env(setup.env_id, setup.env_kwargs)
    assert env.spec is not None
    limit = setup.wrappers.time_limit or env.spec.max_episode_steps
    if limit is None or limit > _MAX_EPISODE_LENGTH:
        return None
    return ArrayVecEnv(dynamics(env.unwrapped), n_envs, limit)


def _dynamics(setup: commands.Setup) -> type[Dynamics] | None:
    return _DYNAMICS.get(str(find_environment(setup.env_id).entry_point))


def _is_equivalent(setup: commands.Setup, dynamics: type[Dynamics]) -> bool:
    options = setup.wrappers
    return (
        dynamics.arguments.issuperset(setup.env_kwargs)
        and options.frame_skip == 1
        and not options.disturbances
        and not options.left_out_actions
        and not setup.masks_actions
        and _arrays_round_like_scalars()
    )


@cache
def _arrays_round_like_scalars() -> bool:
    """Whether sines and cosines of arrays equal those of scalars; depends on the processor."""
    angles = np.linspace(-7.0, 7.0, 1_001)
    return all(np.array_equal(of(angles), [of(a) for a in angles]) for of in (np.sin, np.cos))
