"""Vectorized dynamics of Acrobot."""

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

_GRAVITY = 9.8


class Acrobot(Dynamics):
    """Gymnasium's AcrobotEnv, with the equations of Sutton and Barto's book."""

    def __init__(self, env: Any) -> None:  # noqa: ANN401 - Gymnasium's environment
        super().__init__(env)
        self._torques = np.array(env.AVAIL_TORQUE, dtype=np.float64)

    def step(self, state: Numbers, actions: NDArray[Any]) -> StepResult:
        """Apply a torque to the middle joint of each environment."""
        env = self.env
        state = self._integrate(state, self._torques[actions])
        _wrap(state[:2])
        state[2] = clipped(state[2], -env.MAX_VEL_1, env.MAX_VEL_1)
        state[3] = clipped(state[3], -env.MAX_VEL_2, env.MAX_VEL_2)
        is_high = -np.cos(state[0]) - np.cos(state[1] + state[0]) > 1.0
        return state, np.where(is_high, 0.0, -1.0), is_high

    def observe(self, state: Numbers) -> NDArray[np.float32]:
        """Return cosines and sines of both joints, and their angular velocities."""
        (cos1, cos2), (sin1, sin2) = np.cos(state[:2]), np.sin(state[:2])
        return rows(np.array((cos1, sin1, cos2, sin2, state[2], state[3])))

    def _integrate(self, state: Numbers, torque: Numbers) -> Numbers:
        """Integrate one step with the fourth-order Runge-Kutta method."""
        dt = self.env.dt
        half = dt / 2.0
        k1 = self._derivatives(state, torque)
        k2 = self._derivatives(state + half * k1, torque)
        k3 = self._derivatives(state + half * k2, torque)
        k4 = self._derivatives(state + dt * k3, torque)
        next_state: Numbers = state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        return next_state

    def _derivatives(self, state: Numbers, torque: Numbers) -> Numbers:
        """Return the derivative of each component."""
        env = self.env
        m1, m2, l1 = env.LINK_MASS_1, env.LINK_MASS_2, env.LINK_LENGTH_1
        lc1, lc2, moi = env.LINK_COM_POS_1, env.LINK_COM_POS_2, env.LINK_MOI
        theta1, theta2, dtheta1, dtheta2 = state
        sin2, cos2 = np.sin(theta2), np.cos(theta2)
        dtheta1_squared, dtheta2_squared = power_of_two(state[2:])
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos2) + moi + moi
        d2 = m2 * (lc2**2 + l1 * lc2 * cos2) + moi
        phi2 = m2 * lc2 * _GRAVITY * np.cos(theta1 + theta2 - np.pi / 2.0)
        phi1 = (
            -m2 * l1 * lc2 * dtheta2_squared * sin2
            - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * sin2
            + (m1 * lc1 + m2 * l1) * _GRAVITY * np.cos(theta1 - np.pi / 2)
            + phi2
        )
        ddtheta2 = torque + d2 / d1 * phi1 - m2 * l1 * lc2 * dtheta1_squared * sin2 - phi2
        ddtheta2 = ddtheta2 / (m2 * lc2**2 + moi - power_of_two(d2) / d1)
        ddtheta1 = -(d2 * ddtheta2 + phi1) / d1
        return np.array((dtheta1, dtheta2, ddtheta1, ddtheta2))


def _wrap(angles: Numbers) -> None:
    """Wrap angles to between -pi and pi, one turn at a time like Gymnasium."""
    turn = np.pi - -np.pi
    while np.count_nonzero(is_above := angles > np.pi):
        angles[is_above] -= turn
    while np.count_nonzero(is_below := angles < -np.pi):
        angles[is_below] += turn
