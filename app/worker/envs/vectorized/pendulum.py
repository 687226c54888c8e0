"""Vectorized dynamics of Pendulum."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.worker.envs.vectorized.dynamics import (
    Dynamics,
    Numbers,
    StepResult,
    clipped,
    power_of_two,
    rows,
)


class Pendulum(Dynamics):
    """Gymnasium's PendulumEnv."""

    arguments = frozenset({"g"})

    def step(self, state: Numbers, actions: NDArray[Any]) -> StepResult:
        """Apply a torque to every pendulum."""
        env = self.env
        angle, speed = state
        torque = clipped(actions[:, 0], -env.max_torque, env.max_torque)
        from_the_top = ((angle + np.pi) % (2 * np.pi)) - np.pi
        costs = (
            power_of_two(from_the_top) + 0.1 * power_of_two(speed) + 0.001 * power_of_two(torque)
        )
        pull = 3 * env.g / (2 * env.l) * np.sin(angle) + 3.0 / (env.m * env.l**2) * torque
        speed = clipped(speed + pull * env.dt, -env.max_speed, env.max_speed)
        angle = angle + speed * env.dt
        return np.array((angle, speed)), -costs, np.zeros(len(actions), dtype=bool)

    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return cosines and sines of the angles, and angular velocities."""
        angle, speed = state
        return rows(np.array((np.cos(angle), np.sin(angle), speed)))
