"""MountainCar and its continuous sister, all copies at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.worker.envs.vectorized.world import Moved, Numbers, Truths, World, bounded, cosine, rows


class MountainCar(World):
    """Gymnasium's MountainCarEnv."""

    arguments = frozenset({"goal_velocity"})

    def step(self, state: Numbers, actions: NDArray[Any]) -> Moved:
        """Push every car backwards, not at all, or forwards."""
        env = self.env
        push = (actions - 1) * env.force + cosine(3 * state[0]) * (-env.gravity)
        state, has_arrived = _roll(env, state, push)
        return state, np.full(len(actions), -1.0), has_arrived

    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return positions and velocities."""
        return rows(state)


class MountainCarContinuous(World):
    """Gymnasium's Continuous_MountainCarEnv.

    It begins an episode with a state of double precision and goes on in single precision, which a
    third component of the state remembers.
    """

    arguments = frozenset({"goal_velocity"})
    pays_from = 32

    def first_state(self) -> Sequence[float]:
        """Return position and velocity, and that this is a beginning."""
        return (*self.env.state, True)

    def step(self, state: Numbers, actions: NDArray[Any]) -> Moved:
        """Push every car by a force."""
        is_first = state[2] != 0
        single = state[:2].astype(np.float32)
        angle = np.where(is_first, 3 * state[0], 3 * single[0])
        push = self._push(actions[:, 0], 0.0025 * cosine(angle))

        moved = np.zeros_like(state)
        moved[:2], has_arrived = _roll(self.env, single, push.astype(np.float32))
        if np.count_nonzero(is_first):
            first, has_arrived[is_first] = _roll(self.env, state[:2, is_first], push[is_first])
            moved[:2, is_first] = first.astype(np.float32)
        cost = np.square(actions[:, 0].astype(np.float64)) * 0.1
        return moved, np.where(has_arrived, 100.0, 0.0) - cost, has_arrived

    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return positions and velocities."""
        return rows(state[:2])

    def _push(self, force: Numbers, slope: Numbers) -> Numbers:
        """Return what changes the velocities.

        Single precision like the action, but for a force that was too large: the bound that took
        its place is a Python number.
        """
        env = self.env
        push: Numbers = (force * env.power - slope.astype(np.float32)).astype(np.float64)
        is_beyond = np.abs(force) > env.max_action
        if np.count_nonzero(is_beyond):
            bound = np.where(force > 0, env.max_action, env.min_action)
            push[is_beyond] = (bound * env.power - slope)[is_beyond]
        return push


def _roll(
    env: Any,  # noqa: ANN401 - either car's constants
    state: Numbers,
    push: Numbers,
) -> tuple[Numbers, Truths]:
    """Return positions and velocities a moment later, and which cars are at the top."""
    position, velocity = state
    velocity = bounded(velocity + push, -env.max_speed, env.max_speed)
    position = bounded(position + velocity, env.min_position, env.max_position)
    is_at_wall = (position == env.min_position) & (velocity < 0)
    velocity[is_at_wall] = 0
    has_arrived = (position >= env.goal_position) & (velocity >= env.goal_velocity)
    return np.array((position, velocity)), has_arrived
