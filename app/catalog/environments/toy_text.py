"""The toy-text family: small environments with discrete states."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed, discrete_state

_LAKES = {"4x4": 16, "8x8": 64}


def _lake_options(map_name: str) -> tuple[EnvOption, ...]:
    return (
        EnvOption(
            name="map_name",
            type="choice",
            default=map_name,
            choices=tuple(_LAKES),
            description="The lake to cross.",
        ),
        EnvOption(
            name="is_slippery",
            type="bool",
            default=True,
            description="Whether a step on the ice may slip to the side.",
        ),
        EnvOption(
            name="success_rate",
            type="float",
            default=1 / 3,
            min=0.0,
            max=1.0,
            description="Probability that a step on slippery ice goes in its direction.",
        ),
    )


def _lake(values: Mapping[str, Any]) -> dict[str, Any]:
    return discrete_state(_LAKES[values["map_name"]])


FROZEN_LAKE = EnvSpec(
    id="FrozenLake-v1",
    name="Frozen Lake",
    family="toy text",
    description="Cross a frozen, slippery lake to a present without falling into a hole.",
    action_kind=ActionKind.DISCRETE,
    n_actions=4,
    action_labels=("left", "down", "right", "up"),
    **discrete_state(16),
    reward_range=(0.0, 1.0),
    solved_threshold=0.7,
    max_episode_steps=100,
    default_timesteps=200_000,
    former_ids=("FrozenLake-v0",),
    options=_lake_options("4x4"),
    changed_by=_lake,
)

FROZEN_LAKE_8X8 = replace(
    FROZEN_LAKE,
    id="FrozenLake8x8-v1",
    name="Frozen Lake, large",
    description="Cross a larger frozen lake without falling into a hole. The ice is slippery.",
    **discrete_state(64),
    solved_threshold=0.85,
    max_episode_steps=200,
    default_timesteps=1_000_000,
    former_ids=("FrozenLake8x8-v0",),
    options=_lake_options("8x8"),
)

TAXI = EnvSpec(
    id="Taxi-v4",
    name="Taxi",
    family="toy text",
    description="Drive to a passenger, pick them up and set them down where they want to go.",
    action_kind=ActionKind.DISCRETE,
    n_actions=6,
    action_labels=("south", "north", "east", "west", "pick up", "set down"),
    **discrete_state(500),
    reward_range=(-10.0, 20.0),
    solved_threshold=8.0,
    max_episode_steps=200,
    default_timesteps=500_000,
    former_ids=("Taxi-v3", "Taxi-v2"),
    options=(
        EnvOption(
            name="is_rainy",
            type="bool",
            default=False,
            description="Whether the taxi sometimes slides to the side.",
        ),
        EnvOption(
            name="fickle_passenger",
            type="bool",
            default=False,
            description="Whether the passenger may change their mind on the way.",
        ),
    ),
)

CLIFF_WALKING = EnvSpec(
    id="CliffWalking-v1",
    name="Cliff Walking",
    family="toy text",
    description="Walk along a cliff to the other side. A fall leads back to the start.",
    action_kind=ActionKind.DISCRETE,
    n_actions=4,
    action_labels=("up", "right", "down", "left"),
    **discrete_state(48),
    reward_range=(-100.0, -1.0),
    solved_threshold=None,
    max_episode_steps=None,
    default_timesteps=100_000,
    former_ids=("CliffWalking-v0",),
    options=(
        EnvOption(
            name="is_slippery",
            type="bool",
            default=False,
            description="Whether a step may go to the side instead.",
        ),
    ),
)

BLACKJACK = EnvSpec(
    id="Blackjack-v1",
    name="Blackjack",
    family="toy text",
    description="Come closer to 21 than the dealer, card by card, without going over.",
    action_kind=ActionKind.DISCRETE,
    n_actions=2,
    action_labels=("stick", "hit"),
    observed=(
        *(Observed(name=f"player has {total}", low=0, high=1) for total in range(32)),
        *(Observed(name=f"dealer shows {card}", low=0, high=1) for card in range(11)),
        Observed(name="no usable ace", low=0, high=1),
        Observed(name="usable ace", low=0, high=1),
    ),
    observation_wrappers=("gymnasium.wrappers:FlattenObservation",),
    reward_range=(-1.0, 1.0),
    solved_threshold=None,
    max_episode_steps=None,
    default_timesteps=200_000,
    former_ids=("Blackjack-v0",),
)
