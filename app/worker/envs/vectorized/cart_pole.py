"""Vectorized dynamics of CartPole."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.worker.envs.vectorized.dynamics import Dynamics, Numbers, StepResult, rows


class CartPole(Dynamics):
    """Gymnasium's CartPoleEnv."""

    def step(self, state: Numbers, actions: NDArray[Any]) -> StepResult:
        """Push every cart to the left or to the right."""
        env = self.env
        _, x_dot, theta, theta_dot = state
        force = np.where(actions == 1, env.force_mag, -env.force_mag)
        cos, sin = np.cos(theta), np.sin(theta)
        temp = (force + env.polemass_length * np.square(theta_dot) * sin) / env.total_mass
        theta_acc = (env.gravity * sin - cos * temp) / (
            env.length * (4.0 / 3.0 - env.masspole * np.square(cos) / env.total_mass)
        )
        x_acc = temp - env.polemass_length * theta_acc * cos / env.total_mass
        speed = np.array((x_dot, x_acc, theta_dot, theta_acc))
        state = state + env.tau * speed
        is_out = np.abs(state[0]) > env.x_threshold
        has_fallen = np.abs(state[2]) > env.theta_threshold_radians
        return state, np.ones(len(actions)), is_out | has_fallen

    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return positions and velocities of cart and pole."""
        return rows(state)
