"""The MuJoCo family: bodies with joints and motors."""

from dataclasses import replace
from typing import Any

from app.catalog.environments.extras import MUJOCO
from app.catalog.environments.spec import ActionKind, EnvSpec, Observed


def _body(
    body: str, description: str, motors: tuple[str, ...], observed: tuple[str, ...], **facts: Any
) -> EnvSpec:
    """Describe version 5 of an environment; `facts` override the family's usual fields."""
    usual = EnvSpec(
        id=f"{body}-v5",
        name=body,
        family="mujoco",
        description=description,
        action_kind=ActionKind.CONTINUOUS,
        action_shape=(len(motors),),
        action_labels=motors,
        observed=tuple(Observed(name=component) for component in observed),
        reward_range=(None, None),
        solved_threshold=None,
        max_episode_steps=1000,
        default_timesteps=1_000_000,
        former_ids=tuple(f"{body}-v{version}" for version in (4, 3, 2)),
        extra=MUJOCO,
    )
    return replace(usual, **facts)


def _moving(position: tuple[str, ...], joints: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels for the positions of a body and its joints, then for their speeds."""
    angles = (f"{joint} angle" for joint in joints)
    speeds = (f"{joint} speed" for joint in joints)
    return (*position, *angles, "horizontal speed", "vertical speed", "angular speed", *speeds)


_BACK_AND_FRONT = tuple(
    f"{end} {part}" for end in ("back", "front") for part in ("thigh", "shin", "foot")
)
_ONE_LEG = ("thigh", "leg", "foot")
_TWO_LEGS = tuple(f"{side} {part}" for side in ("right", "left") for part in _ONE_LEG)
_FOUR_LEGS = tuple(
    f"{leg} {joint}"
    for leg in ("back right", "front left", "front right", "back left")
    for joint in ("hip", "ankle")
)
_ARM = ("shoulder 1", "shoulder 2", "elbow")
_WHOLE_BODY = (
    *("abdomen y", "abdomen z", "abdomen x"),
    *(f"{side} {j}" for side in ("right", "left") for j in ("hip x", "hip z", "hip y", "knee")),
    *(f"{side} {joint}" for side in ("right", "left") for joint in _ARM),
)

HALF_CHEETAH = _body(
    "HalfCheetah",
    "Run as fast as possible on two legs, in a plane.",
    _BACK_AND_FRONT,
    _moving(("height", "angle"), _BACK_AND_FRONT),
    name="Half Cheetah",
    solved_threshold=4800.0,
)
HOPPER = _body(
    "Hopper",
    "Hop forward on one leg without falling.",
    _ONE_LEG,
    _moving(("height", "angle"), _ONE_LEG),
    solved_threshold=3800.0,
)
WALKER_2D = _body(
    "Walker2d",
    "Walk forward on two legs without falling, in a plane.",
    _TWO_LEGS,
    _moving(("height", "angle"), _TWO_LEGS),
    name="Walker 2D",
)
ANT = _body(
    "Ant",
    "Walk forward on four legs.",
    _FOUR_LEGS,
    (),
    observation_size=(105,),
    solved_threshold=6000.0,
)
HUMANOID = _body(
    "Humanoid",
    "Walk upright with seventeen motors.",
    _WHOLE_BODY,
    (),
    observation_size=(348,),
    default_timesteps=5_000_000,
)
SWIMMER = _body(
    "Swimmer",
    "Swim forward with two joints.",
    ("joint 1", "joint 2"),
    (
        *("angle", "joint 1 angle", "joint 2 angle", "horizontal speed", "vertical speed"),
        *("angular speed", "joint 1 speed", "joint 2 speed"),
    ),
    solved_threshold=360.0,
)
INVERTED_PENDULUM = _body(
    "InvertedPendulum",
    "Balance a pole on a cart with a motor that can be throttled.",
    ("force",),
    ("cart position", "pole angle", "cart velocity", "pole angular velocity"),
    name="Inverted Pendulum",
    reward_range=(0.0, 1.0),
    solved_threshold=950.0,
    default_timesteps=200_000,
    former_ids=("InvertedPendulum-v4", "InvertedPendulum-v2"),
)
INVERTED_DOUBLE_PENDULUM = _body(
    "InvertedDoublePendulum",
    "Balance two poles, one on top of the other, on a cart.",
    ("force",),
    (
        *("cart position", "sine of pole 1", "sine of pole 2", "cosine of pole 1"),
        *("cosine of pole 2", "cart velocity", "pole 1 angular velocity"),
        *("pole 2 angular velocity", "force of the ground"),
    ),
    name="Inverted Double Pendulum",
    solved_threshold=9100.0,
    default_timesteps=500_000,
    former_ids=("InvertedDoublePendulum-v4", "InvertedDoublePendulum-v2"),
)
