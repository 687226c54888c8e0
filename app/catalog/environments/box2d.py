"""The Box2D family."""

from collections.abc import Mapping
from dataclasses import replace
from math import pi
from typing import Any

from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, ObservationKind, Observed

_WEATHER = (
    EnvOption(
        name="gravity",
        type="float",
        default=-10.0,
        min=-11.99,
        max=-0.01,
        description="Gravity; more negative is stronger.",
    ),
    EnvOption(
        name="enable_wind",
        type="bool",
        default=False,
        description="Whether there is wind.",
    ),
    EnvOption(
        name="wind_power",
        type="float",
        default=15.0,
        min=0.0,
        max=20.0,
        description="Maximum linear wind force.",
    ),
    EnvOption(
        name="turbulence_power",
        type="float",
        default=1.5,
        min=0.0,
        max=2.0,
        description="Maximum rotational wind force.",
    ),
)

LUNAR_LANDER = EnvSpec(
    id="LunarLander-v3",
    name="Lunar Lander",
    family="box2d",
    description="Set a spacecraft down between two flags, gently and with little fuel.",
    action_kind=ActionKind.DISCRETE,
    n_actions=4,
    action_labels=("coast", "left engine", "main engine", "right engine"),
    observed=(
        Observed(name="horizontal position", low=-2.5, high=2.5),
        Observed(name="height", low=-2.5, high=2.5),
        Observed(name="horizontal speed", low=-10.0, high=10.0),
        Observed(name="vertical speed", low=-10.0, high=10.0),
        Observed(name="angle", low=-2 * pi, high=2 * pi),
        Observed(name="angular speed", low=-10.0, high=10.0),
        Observed(name="left leg contact", low=0.0, high=1.0),
        Observed(name="right leg contact", low=0.0, high=1.0),
    ),
    reward_range=(-100.0, 100.0),
    solved_threshold=200.0,
    max_episode_steps=1000,
    default_timesteps=500_000,
    former_ids=("LunarLander-v2", "LunarLander-v1"),
    options=_WEATHER,
)

_JOINTS = ("hip 1", "knee 1", "hip 2", "knee 2")


def _leg(number: int) -> tuple[Observed, ...]:
    return (
        Observed(name=f"hip {number} angle", low=-pi, high=pi),
        Observed(name=f"hip {number} speed", low=-5.0, high=5.0),
        Observed(name=f"knee {number} angle", low=-pi, high=pi),
        Observed(name=f"knee {number} speed", low=-5.0, high=5.0),
        Observed(name=f"leg {number} contact", low=0.0, high=5.0),
    )


BIPEDAL_WALKER = EnvSpec(
    id="BipedalWalker-v3",
    name="Bipedal Walker",
    family="box2d",
    description="Walk across rough ground on two legs with four motors.",
    action_kind=ActionKind.CONTINUOUS,
    action_shape=(4,),
    action_labels=tuple(f"{joint} torque" for joint in _JOINTS),
    observed=(
        Observed(name="hull angle", low=-pi, high=pi),
        Observed(name="hull angular speed", low=-5.0, high=5.0),
        Observed(name="horizontal speed", low=-5.0, high=5.0),
        Observed(name="vertical speed", low=-5.0, high=5.0),
        *_leg(1),
        *_leg(2),
        *(Observed(name=f"lidar {ray}", low=-1.0, high=1.0) for ray in range(1, 11)),
    ),
    reward_range=(-100.0, None),
    solved_threshold=300.0,
    max_episode_steps=1600,
    default_timesteps=1_000_000,
    # Its Box2D world persists across episodes, and with it the order of contacts.
    repeats_itself=False,
    former_ids=("BipedalWalker-v2",),
)

LUNAR_LANDER_CONTINUOUS = replace(
    LUNAR_LANDER,
    id="LunarLanderContinuous-v3",
    name="Lunar Lander, continuous",
    description="Set a spacecraft down between two flags with engines that can be throttled.",
    action_kind=ActionKind.CONTINUOUS,
    n_actions=None,
    action_shape=(2,),
    action_labels=("main engine", "side engines"),
    default_timesteps=300_000,
    former_ids=("LunarLanderContinuous-v2",),
)

BIPEDAL_WALKER_HARDCORE = replace(
    BIPEDAL_WALKER,
    id="BipedalWalkerHardcore-v3",
    name="Bipedal Walker, hardcore",
    description="Walk over ladders, stumps and pitfalls on two legs.",
    max_episode_steps=2000,
    default_timesteps=5_000_000,
    former_ids=("BipedalWalkerHardcore-v2",),
)

_STEERED = {
    "action_kind": ActionKind.CONTINUOUS,
    "n_actions": None,
    "action_shape": (3,),
    "action_labels": ("steering", "gas", "brake"),
}
_PRESSED = {
    "action_kind": ActionKind.DISCRETE,
    "n_actions": 5,
    "action_shape": None,
    "action_labels": ("coast", "right", "left", "gas", "brake"),
}


def _car(values: Mapping[str, Any]) -> dict[str, Any]:
    return _STEERED if values["continuous"] else _PRESSED


CAR_RACING = EnvSpec(
    id="CarRacing-v3",
    name="Car Racing",
    family="box2d",
    description="Drive once around a new track each time, seen from above, pixels only.",
    action_kind=ActionKind.CONTINUOUS,
    action_shape=(3,),
    action_labels=("steering", "gas", "brake"),
    observation_kind=ObservationKind.IMAGE,
    observation_size=(96, 96, 3),
    reward_range=(-100.0, None),
    solved_threshold=900.0,
    max_episode_steps=1000,
    default_timesteps=1_000_000,
    # As with the walker, its world persists across episodes.
    repeats_itself=False,
    former_ids=("CarRacing-v2", "CarRacing-v1", "CarRacing-v0"),
    options=(
        EnvOption(
            name="continuous",
            type="bool",
            default=True,
            description="Continuous steering, gas and brake; otherwise five discrete actions.",
        ),
        EnvOption(
            name="domain_randomize",
            type="bool",
            default=False,
            description="Whether the colors change with every track.",
        ),
        EnvOption(
            name="lap_complete_percent",
            type="float",
            default=0.95,
            min=0.1,
            max=1.0,
            description="Fraction of the track that must be visited to complete a lap.",
        ),
    ),
    changed_by=_car,
)
