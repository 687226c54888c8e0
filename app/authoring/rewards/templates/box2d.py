"""Templates for LunarLander and BipedalWalker."""

from app.authoring.rewards.templates.template import Template, potential, template

_FUEL = {
    "LunarLander-v3": "fuel = {0: 0.0, 1: 0.1, 2: 0.3, 3: 0.1}[int(action)]",
    "LunarLanderContinuous-v3": "main, side = float(action[0]), float(action[1])\n"
    "fuel = 0.3 * max(main, 0.0) + 0.1 * (abs(side) > 0.5)",
}


def _lander(fuel: str) -> tuple[Template, ...]:
    return (
        template(
            "fast",
            "Land faster with less fuel",
            "The environment's own reward with higher costs of time and fuel.",
            f'{fuel}\nreturn {{"environment": reward, "time": -0.1, "fuel": -fuel}}',
        ),
        template(
            "landing",
            "Only the landing counts",
            "1 for a landing, -1 for a crash, 0 otherwise; hard to find by random exploration.",
            "if not terminated:\n    return 0.0\nreturn 1.0 if reward > 0 else -1.0",
        ),
        potential(
            "Closer to the pad, slower and upright earns more, without changing the optimal "
            "policy.",
            "distance = np.hypot(obs.horizontal_position, obs.height)\n"
            "speed = np.hypot(obs.horizontal_speed, obs.vertical_speed)\n"
            "return -20 * float(distance + speed + abs(obs.angle))",
        ),
    )


_WALKER = (
    template(
        "upright",
        "Walk upright",
        "The environment's own reward, less for a hull that leans or shakes.",
        "lean = abs(float(next_obs.hull_angle))\nshake = abs(float(next_obs.hull_angular_speed))\n"
        'return {"environment": reward, "lean": -0.05 * lean, "shake": -0.05 * shake}',
    ),
    template(
        "speed",
        "Speed only",
        "Rewards only speed; a fall costs as usual.",
        "fall = -100.0 if terminated and reward < -50 else 0.0\n"
        'return {"speed": float(next_obs.horizontal_speed), "fall": fall}',
    ),
)

BY_ENVIRONMENT: dict[str, tuple[Template, ...]] = {
    **{env_id: _lander(fuel) for env_id, fuel in _FUEL.items()},
    "BipedalWalker-v3": _WALKER,
    "BipedalWalkerHardcore-v3": _WALKER,
}
