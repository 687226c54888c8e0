"""Atari games, played on the Arcade Learning Environment under one of two protocols."""

from collections.abc import Mapping
from typing import Any

from app.catalog.environments.extras import ATARI
from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, ObservationKind
from app.protocol import NO_FRAMESKIP, STICKY_ACTIONS, V5

_DIRECTIONS = ("up", "right", "left", "down", "up right", "up left", "down right", "down left")
_EVERY_BUTTON = (
    "wait",
    "fire",
    *_DIRECTIONS,
    *(f"{direction} and fire" for direction in _DIRECTIONS),
)
_SIDEWAYS = ("wait", "fire", "right", "left", "right and fire", "left and fire")
_FORMER_NAMES = ("{}-v5", "{}-v4", "{}-v0", "{}Deterministic-v4")


def _game(
    game: str, name: str, description: str, buttons: tuple[str, ...], **facts: Any
) -> EnvSpec:
    def with_options(values: Mapping[str, Any]) -> dict[str, Any]:
        offered = _EVERY_BUTTON if values["full_action_space"] else buttons
        return {
            "n_actions": len(offered),
            "action_labels": offered,
            "observation_size": (84, 84, 1 if values["greyscale"] else 3),
            "protocol": _protocol(values),
        }

    return EnvSpec(
        id=f"ALE/{game}-v5",
        name=name,
        family="atari",
        description=description,
        action_kind=ActionKind.DISCRETE,
        n_actions=len(buttons),
        action_labels=buttons,
        observation_kind=ObservationKind.IMAGE,
        observation_size=(84, 84, 1),
        reward_range=facts.get("reward_range", (0.0, None)),
        solved_threshold=None,
        max_episode_steps=27_000,
        default_timesteps=10_000_000,
        default_frame_stack=4,
        # A lost life ends an episode in training, but not the game.
        repeats_itself=False,
        former_ids=tuple(former.format(game) for former in _FORMER_NAMES),
        aliases={f"{game}{NO_FRAMESKIP}": {"protocol": NO_FRAMESKIP}},
        extra=ATARI,
        options=_OPTIONS,
        changed_by=with_options,
    )


def _protocol(values: Mapping[str, Any]) -> str | None:
    """Return the protocol in words, None if it is that of the id."""
    protocol, sticky = values["protocol"], values["repeat_action_probability"]
    words = [] if protocol == V5 else [protocol]
    if sticky is not None and sticky != STICKY_ACTIONS[protocol]:
        words.append(f"sticky actions {sticky:g}")
    return ", ".join(words) or None


_OPTIONS = (
    EnvOption(
        name="protocol",
        type="choice",
        default=V5,
        choices=tuple(STICKY_ACTIONS),
        description=(
            "v5: sticky actions and frame skip inside the emulator, whole games. NoFrameskip-v4: "
            "the classic protocol of DQN and RL Zoo, with no-op starts, and lives that end "
            "episodes in training."
        ),
    ),
    EnvOption(
        name="repeat_action_probability",
        type="float",
        default=None,
        min=0.0,
        max=1.0,
        nullable=True,
        description=(
            "Probability that the emulator repeats the previous action in a frame, in training "
            "and evaluation. Empty: that of the protocol, 0.25 (v5) or 0 (NoFrameskip-v4)."
        ),
    ),
    EnvOption(
        name="greyscale",
        type="bool",
        default=True,
        description="Whether the agent observes 84 x 84 grey pixels; otherwise RGB colors.",
    ),
    EnvOption(
        name="full_action_space",
        type="bool",
        default=False,
        description="Whether to use all 18 joystick actions instead of the useful ones.",
    ),
)

PONG = _game(
    "Pong",
    "Pong",
    "Play table tennis against the machine, up to 21 points.",
    _SIDEWAYS,
    reward_range=(-1.0, 1.0),
)
BREAKOUT = _game(
    "Breakout",
    "Breakout",
    "Knock bricks out of a wall with a ball that must not fall.",
    ("wait", "fire", "right", "left"),
)
SPACE_INVADERS = _game(
    "SpaceInvaders",
    "Space Invaders",
    "Shoot rows of invaders before they reach the ground.",
    _SIDEWAYS,
)
MS_PACMAN = _game(
    "MsPacman",
    "Ms. Pac-Man",
    "Eat every pellet of a maze and stay away from the ghosts.",
    ("wait", *_DIRECTIONS),
)
QBERT = _game(
    "Qbert",
    "Q*bert",
    "Hop over a pyramid until every cube has changed its color.",
    ("wait", "fire", "up", "right", "left", "down"),
)
SEAQUEST = _game(
    "Seaquest",
    "Seaquest",
    "Rescue divers with a submarine, shoot what comes close, and surface for air.",
    _EVERY_BUTTON,
)
FREEWAY = _game(
    "Freeway",
    "Freeway",
    "Take a chicken across ten lanes of traffic as often as time allows.",
    ("wait", "up", "down"),
    reward_range=(0.0, 1.0),
)
