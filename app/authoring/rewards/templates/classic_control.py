"""Templates for classic control."""

from app.authoring.rewards.templates.template import Template, potential, template

CARTPOLE = (
    template(
        "centre",
        "Centre the pole",
        "Each step earns 1, less off center or with a tilted pole.",
        "position = abs(next_obs.cart_position) / 2.4\nangle = abs(next_obs.pole_angle) / 0.21\n"
        'return {"alive": 1.0, "centre": -0.4 * position, "upright": -0.4 * angle}',
    ),
    template(
        "smooth",
        "Hold still",
        "Each step earns 1, less for a cart and a pole that move fast.",
        "speed = min(abs(next_obs.cart_velocity), 2.0)\n"
        "turning = min(abs(next_obs.pole_angular_velocity), 2.0)\n"
        'return {"alive": 1.0, "speed": -0.2 * speed, "turning": -0.2 * turning}',
    ),
    potential(
        "Closer to the middle and to upright earns more, without changing the optimal policy.",
        "return 2.0 - abs(obs.cart_position) / 2.4 - abs(obs.pole_angle) / 0.21",
    ),
)

MOUNTAIN_CAR = (
    potential(
        "Energy earns reward, so that the car starts to swing; the optimal policy stays the same.",
        "height = 1.0 + np.sin(3 * obs.position)\n"
        "return float(10 * height + 5_000 * obs.velocity**2)",
    ),
    template(
        "goal",
        "Only the top counts",
        "1 for the top, 0 otherwise; hard to find by random exploration.",
        "return 1.0 if terminated else 0.0",
    ),
)

ACROBOT = (
    potential(
        "A higher tip earns more, without changing the optimal policy.",
        "elbow = -obs.cosine_of_joint_1\n"
        "both = obs.cosine_of_joint_1 * obs.cosine_of_joint_2\n"
        "both -= obs.sine_of_joint_1 * obs.sine_of_joint_2\n"
        "return 5 * float(2.0 + elbow - both)",
    ),
)

PENDULUM = (
    template(
        "upright",
        "Upright with less torque",
        "Rewards the upright position; angular speed and torque cost more than usual.",
        "up = float(next_obs.cosine_of_the_angle) - 1.0\n"
        "spin = float(next_obs.angular_speed) ** 2\n"
        "effort = float(action[0]) ** 2\n"
        'return {"up": 5 * up, "spin": -0.1 * spin, "effort": -0.02 * effort}',
    ),
    potential(
        "Higher earns more, without changing the optimal policy.",
        "return 2.0 + 2.0 * float(obs.cosine_of_the_angle)",
    ),
)

BY_ENVIRONMENT: dict[str, tuple[Template, ...]] = {
    "CartPole-v1": CARTPOLE,
    "MountainCar-v0": MOUNTAIN_CAR,
    "MountainCarContinuous-v0": MOUNTAIN_CAR,
    "Acrobot-v1": ACROBOT,
    "Pendulum-v1": PENDULUM,
}
