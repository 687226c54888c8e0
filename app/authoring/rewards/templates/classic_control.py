"""Templates for classic control."""

from app.authoring.rewards.templates.template import Template, potential, template

CARTPOLE = (
    template(
        "centre",
        "Centre the pole",
        "Stay in the middle with the pole upright; every step alive still counts.",
        "position = abs(next_obs.cart_position) / 2.4\nangle = abs(next_obs.pole_angle) / 0.21\n"
        'return {"alive": 1.0, "centre": -0.4 * position, "upright": -0.4 * angle}',
    ),
    template(
        "smooth",
        "Hold still",
        "Every step alive counts, less for a cart and a pole that move fast.",
        "speed = min(abs(next_obs.cart_velocity), 2.0)\n"
        "turning = min(abs(next_obs.pole_angular_velocity), 2.0)\n"
        'return {"alive": 1.0, "speed": -0.2 * speed, "turning": -0.2 * turning}',
    ),
    potential(
        "Nearer to the middle and to upright is worth more, without changing what is best.",
        "return 2.0 - abs(obs.cart_position) / 2.4 - abs(obs.pole_angle) / 0.21",
    ),
)

MOUNTAIN_CAR = (
    potential(
        "Energy is worth something, so that the car begins to rock; the goal stays the goal.",
        "height = 1.0 + np.sin(3 * obs.position)\n"
        "return float(10 * height + 5_000 * obs.velocity**2)",
    ),
    template(
        "goal",
        "Only the top counts",
        "One for the top, nothing else; hard to find by chance.",
        "return 1.0 if terminated else 0.0",
    ),
)

ACROBOT = (
    potential(
        "A higher tip is worth more, without changing what is best.",
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
        "Up is good, spinning is bad, and torque costs more than usual.",
        "up = float(next_obs.cosine_of_the_angle) - 1.0\n"
        "spin = float(next_obs.angular_speed) ** 2\n"
        "effort = float(action[0]) ** 2\n"
        'return {"up": 5 * up, "spin": -0.1 * spin, "effort": -0.02 * effort}',
    ),
    potential(
        "Higher is worth more, without changing what is best.",
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
