"""Vectorized dynamics of MountainCar."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.worker.envs.vectorized.dynamics import Dynamics, Numbers, StepResult, clipped, cosine, rows


class MountainCar(Dynamics):
    """Gymnasium's MountainCarEnv."""

    arguments = frozenset({"goal_velocity"})

    def step(self, state: Numbers, actions: NDArray[Any]) -> StepResult:
        """Push every car backwards, not at all, or forwards."""
        env, (position, velocity) = self.env, state
        push = (actions - 1) * env.force + cosine(3 * position) * (-env.gravity)
        velocity = clipped(velocity + push, -env.max_speed, env.max_speed)
        position = clipped(position + velocity, env.min_position, env.max_position)
        is_at_wall = (position == env.min_position) & (velocity < 0)
        velocity[is_at_wall] = 0
        has_arrived = (position >= env.goal_position) & (velocity >= env.goal_velocity)
        return np.array((position, velocity)), np.full(len(actions), -1.0), has_arrived

    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return positions and velocities."""
        return rows(state)
